import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceState } from './service-state.ts';
import { serviceLines } from './service-text.ts';
import { cut } from './table-lines.ts';
import { printable, styled } from './terminal.ts';

/** Reads the state of the service. */
export type Read = (signal: AbortSignal) => Promise<ServiceState>;

/** The whole terminal, for a view that is drawn again and again. */
type Screen = {
  /** Aborts when the user ends the view. */
  readonly closed: AbortSignal;
  size(): { columns: number; rows: number };
  draw(lines: string[]): void;
  onResize(draw: () => void): void;
};

const intervalMs = 1000;
const noLimit = { columns: Infinity, rows: Infinity };
const enter = '\u001B[?1049h\u001B[?25l';
const leave = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const clearLine = '\u001B[K';
const clearBelow = '\u001B[J';
const ctrlC = '\u0003';

/** Prints the state of a service as text. */
export function printState(state: ServiceState): void {
  console.log(serviceLines(state, noLimit).join('\n'));
}

/** Shows the state on the whole terminal, and reads it again each second, until the user ends the view. */
export async function showState(read: Read, interrupted: AbortSignal): Promise<void> {
  await onWholeScreen((screen) => follow(read, screen, interrupted));
}

async function follow(read: Read, screen: Screen, interrupted: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([interrupted, screen.closed]);
  let state = await read(signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  let problem = '';
  const draw = () => {
    if (!state) return;
    const { columns, rows } = screen.size();
    const title = `playwright-pool top  ${new Date().toLocaleTimeString('en-GB')}  q: end`;
    const first = problem === '' ? styled(process.stdout, 'dim', title) : styled(process.stdout, 'red', problem);
    screen.draw([first, '', ...serviceLines(state, { columns, rows: rows - 2 })]);
  };
  screen.onResize(draw);
  while (!signal.aborted) {
    draw();
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
    try {
      if (!signal.aborted) state = await read(signal);
      problem = '';
    } catch (error) {
      // Keep the last state on the screen, and show the problem above it.
      problem = `not up to date: ${printable((error as Error).message)}`;
    }
  }
}

/** Gives the terminal to `use`, and restores it afterwards. */
async function onWholeScreen(use: (screen: Screen) => Promise<void>): Promise<void> {
  const { stdin, stdout } = process;
  const controller = new AbortController();
  const resized: (() => void)[] = [];
  const onKey = (keys: Buffer) => {
    if (/q/i.test(String(keys)) || String(keys).includes(ctrlC)) controller.abort();
  };
  const onResize = () => resized.forEach((draw) => draw());
  // Restore the terminal even if the process exits at once, after a second signal.
  const restore = () => void stdout.write(leave);
  process.once('exit', restore);
  stdout.on('resize', onResize);
  if (stdin.isTTY) stdin.setRawMode(true).on('data', onKey).resume();
  stdout.write(enter);
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  try {
    await use({
      closed: controller.signal,
      size,
      draw: (lines) => {
        const { columns, rows } = size();
        const drawn = lines.slice(0, rows).map((line) => clearLine + cut(line, columns));
        stdout.write(`${home}${drawn.join('\r\n')}${drawn.length < rows ? `\r\n${clearBelow}` : ''}`);
      },
      onResize: (draw) => resized.push(draw),
    });
  } finally {
    if (stdin.isTTY) stdin.off('data', onKey).pause().setRawMode(false);
    stdout.off('resize', onResize);
    process.off('exit', restore);
    restore();
  }
}
