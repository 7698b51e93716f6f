import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { historyMs, serviceNow } from '../app/store.browser.ts';
import type { HistorySample } from '../../../contract/dashboard-events.ts';

const height = 240;
const stepped = UPlot.paths.stepped!({ align: 1 });
const lines = [
  { key: 'leased', label: 'Leased', color: '--accent' },
  { key: 'free', label: 'Free', color: '--good' },
  { key: 'waiting', label: 'Waiting', color: '--warn' },
] as const;

/** The chart of leased, free and waiting browsers in the last 15 minutes. `theme` must change when the colours do. */
export function Chart({ history, theme }: { history: HistorySample[]; theme: string }) {
  const box = useRef<HTMLDivElement>(null);
  const samples = useRef(history);
  samples.current = history;
  useEffect(() => {
    const element = box.current!;
    const plot = new UPlot(options(element), valuesOf(samples.current), element);
    // Nobody sees a hidden tab.
    const timer = setInterval(() => !document.hidden && plot.setData(valuesOf(samples.current)), 1000);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      clearInterval(timer);
      observer.disconnect();
      plot.destroy();
    };
  }, [theme]);
  const most = (key: (typeof lines)[number]['key']) => history.reduce((max, sample) => Math.max(max, sample[key]), 0);
  const summary = lines.map(({ key, label }) => `${label.toLowerCase()} ${most(key)}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        Last 15 minutes
        <span class="legend" aria-hidden="true">
          {lines.map(({ key, label }) => (
            <span key={key} class={`key ${key}`}>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} role="img" aria-label={`Most at once in the last 15 minutes: ${summary}`}></div>
    </figure>
  );
}

function valuesOf(history: HistorySample[]): UPlot.AlignedData {
  const now = serviceNow();
  const last = history.at(-1);
  const samples = last ? [...history, { ...last, at: Math.max(now, last.at) }] : [];
  return [
    samples.map(({ at }) => (at - now) / 60_000),
    ...lines.map(({ key }) => samples.map((sample) => sample[key])),
  ] as UPlot.AlignedData;
}

function options(element: HTMLElement): UPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => colorOf(element, `var(${name})`);
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: color('--quiet'), font, ticks: { show: false }, grid: { stroke: color('--line'), width: 1 } };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [-historyMs / 60_000, 0] },
      y: { range: (_plot, _min, max) => [0, Math.max(4, Math.ceil(max * 1.1))] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? 'now' : `−${-tick} min`)),
      },
      { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    ],
    series: [
      {},
      ...lines.map(({ key, label, color: name }): UPlot.Series =>
        Object.assign(
          { label, stroke: color(name), width: 2, points: { show: false }, paths: stepped },
          key === 'leased' && { fill: color('--accent-soft') },
        ),
      ),
    ],
  };
}

/** Computes the colour of a CSS value, because a canvas can't use CSS variables. */
function colorOf(element: HTMLElement, value: string): string {
  const probe = element.appendChild(document.createElement('span'));
  probe.style.color = value;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
