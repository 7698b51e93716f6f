import { printable } from './terminal.ts';

/** Shows a text, and how much of the work is done: `part` is 0 to 1, if it is known. */
export type ShowProgress = (text: string, part?: number) => void;

const drawIntervalMs = 100;
/** The delay of the first line without a terminal, in ms. */
const firstLineMs = 2000;
const lineIntervalMs = 10_000;
const barWidth = 24;

/**
 * Shows the progress of `run` on stderr: on a terminal a bar that disappears in the end, elsewhere a line every ten
 * seconds.
 */
export async function withProgress<T>(title: string, run: (show: ShowProgress) => Promise<T>): Promise<T> {
  const { stderr } = process;
  let nextAt = performance.now() + (stderr.isTTY ? drawIntervalMs : firstLineMs);
  let drawn = false;
  let line = '';
  let due: NodeJS.Timeout | undefined;
  const draw = () => {
    clearTimeout(due);
    due = undefined;
    nextAt = performance.now() + (stderr.isTTY ? drawIntervalMs : lineIntervalMs);
    stderr.write(stderr.isTTY ? `\r\u001B[2K${line.slice(0, (stderr.columns || 80) - 1)}` : `${line}\n`);
    drawn = stderr.isTTY;
  };
  const show = (text: string, part?: number) => {
    line = printable([title, part !== undefined && amount(part, stderr.isTTY), text].filter(Boolean).join(' '));
    const wait = nextAt - performance.now();
    if (wait <= 0) draw();
    // Draw later, even if no other step follows soon: this step may take long.
    else due ??= setTimeout(draw, wait);
  };
  try {
    return await run(show);
  } finally {
    clearTimeout(due);
    if (drawn) stderr.write('\r\u001B[2K');
  }
}

/** A size for people: `1.5 MB`. */
export function inBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let unit = 0;
  for (; bytes >= 999.5 && unit < units.length - 1; unit += 1) bytes /= 1000;
  return `${unit === 0 || bytes >= 99.95 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

function amount(part: number, bar: boolean): string {
  const percent = `${String(Math.floor(part * 100)).padStart(3)}%`;
  if (!bar) return percent;
  const filled = Math.round(part * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${percent}`;
}
