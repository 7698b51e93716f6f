import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

export type Row = { panel?: string; series: string; x: number | string; y: number; samples: number[] };

/** A picture with its data. */
export type Figure = {
  /** The name of its file. */
  name: string;
  title: string;
  /** How it was measured. */
  text: string;
  x: string;
  y: string;
  kind: 'line' | 'bar';
  rows: Row[];
};

/** Draws a figure on white. Its text stays text. */
export async function drawn({ title, x, y, kind, rows }: Figure): Promise<string> {
  const panels = new Set(rows.map(({ panel }) => panel)).size;
  const values = rows.map(({ panel, series, x, y }) => ({ panel, series, x, y }));
  const spec: TopLevelSpec = {
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
  return await new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG();
}
