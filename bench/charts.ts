import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

/** A row of a flame graph is a frame: it begins at `x`, takes `y`, and `depth` others called it. */
export type Row = {
  panel?: string;
  series: string;
  x: number | string;
  y: number;
  depth?: number;
  samples: number[];
};

/** A picture with its data. */
export type Figure = {
  /** The name of its file. */
  name: string;
  title: string;
  /** How it was measured. */
  text: string;
  x: string;
  y: string;
  kind: 'line' | 'bar' | 'flame';
  rows: Row[];
};

/** Draws a figure on white. Its text stays text. */
export async function drawn(figure: Figure): Promise<string> {
  const spec = figure.kind === 'flame' ? flameGraph(figure) : chart(figure);
  return await new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG();
}

function chart({ title, x, y, kind, rows }: Figure): TopLevelSpec {
  const panels = new Set(rows.map(({ panel }) => panel)).size;
  const values = rows.map(({ panel, series, x, y }) => ({ panel, series, x, y }));
  return {
    data: { values },
    title,
    background: 'white',
    padding: 12,
    width: panels > 1 ? 150 : 420,
    height: 230,
    mark: kind === 'line' ? { type: 'line', point: true } : 'bar',
    encoding: {
      ...(panels > 1 && { column: { field: 'panel', title: null, sort: null } }),
      x: {
        field: 'x',
        title: x,
        sort: null,
        ...(kind === 'line'
          ? {
              type: 'quantitative',
              axis: { values: [...new Set(rows.map((row) => row.x))] as number[], format: 'd', grid: false },
            }
          : { type: 'nominal', axis: { labelAngle: 0, labelLimit: 200 } }),
      },
      y: { field: 'y', title: y, type: 'quantitative', scale: { zero: true } },
      ...(kind === 'bar' && { xOffset: { field: 'series', sort: null } }),
      color: { field: 'series', title: null, sort: null, legend: { orient: 'bottom', columns: 1, labelLimit: 400 } },
    },
    config: { font: 'sans-serif' },
  };
}

const groups = ['playwright-pool', 'Playwright', 'Node and libraries'] as const;

/** A graph for each panel, all at one scale. */
function flameGraph({ title, x, rows }: Figure): TopLevelSpec {
  const width = 900;
  const rowHeight = 16;
  const pixelsPerCharacter = 6.5;
  const longest = Math.max(...rows.map(({ x, y }) => Number(x) + y));
  const panels = [...new Set(rows.map(({ panel }) => panel))];
  return {
    title,
    background: 'white',
    padding: 12,
    vconcat: panels.map((panel) => {
      const frames = rows.filter((row) => row.panel === panel);
      const values = frames.map(({ series, x, y, depth = 0 }) => {
        const characters = Math.floor(((y / longest) * width - 4) / pixelsPerCharacter);
        const text = characters < 4 ? '' : series.slice(0, characters);
        return { x, end: Number(x) + y, y: depth, below: depth + 1, group: groupOf(series), text };
      });
      const depths = Math.max(...values.map(({ below }) => below));
      const axis = { axis: null, scale: { domain: [0, depths] as [number, number], reverse: true } };
      return {
        title: panel!,
        data: { values },
        width,
        height: depths * rowHeight,
        encoding: {
          x: { field: 'x', type: 'quantitative', title: x, scale: { domain: [0, longest] }, axis: { grid: false } },
          y: { field: 'y', type: 'quantitative', ...axis },
        },
        layer: [
          {
            mark: { type: 'rect', stroke: 'white', strokeWidth: 0.5, aria: false },
            encoding: {
              x2: { field: 'end' },
              y2: { field: 'below' },
              color: { field: 'group', type: 'nominal', title: null, sort: [...groups], legend: { orient: 'bottom' } },
            },
          },
          {
            mark: { type: 'text', align: 'left', dx: 3, dy: rowHeight / 2, fontSize: 10, aria: false },
            encoding: { text: { field: 'text' } },
          },
        ],
      };
    }),
    config: { font: 'sans-serif' },
  };
}

function groupOf(name: string): string {
  if (name.endsWith('(playwright-pool)')) return groups[0];
  return /\(@?playwright/.test(name) ? groups[1] : groups[2];
}
