import { printable } from './terminal.ts';

/** Says how far something has come: `part` of the whole, 0 to 1, where it is known. */
export type ShowProgress = (text: string, part?: number) => void;

const drawIntervalMs = 100;
/** When lines are printed where no bar can be drawn: not for what is short, and seldom. */
const firstLineMs = 2000;
const lineIntervalMs = 10_000;
const barWidth = 24;

/**
 * Shows on stderr how far `run` has come: on a terminal a line that changes, with a bar, and is gone in the end; elsewhere a line after
 * two seconds and then one every ten.
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
    // What is shown last may be what takes long.
    else due ??= setTimeout(draw, wait);
  };
  try {
    return await run(show);
  } finally {
    clearTimeout(due);
    if (drawn) stderr.write('\r\u001B[2K');
  }
}

/** A count of bytes for people. */
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
