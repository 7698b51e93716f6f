import { cut } from './table-lines.ts';

/** The whole terminal, for a view that is drawn again and again. */
export type Screen = {
  /** Aborts when the user ends the view. */
  readonly closed: AbortSignal;
  size(): { columns: number; rows: number };
  draw(lines: string[]): void;
  onResize(draw: () => void): void;
};

const enter = '\u001B[?1049h\u001B[?25l';
const leave = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const clearLine = '\u001B[K';
const clearBelow = '\u001B[J';
const ctrlC = '\u0003';

/** Gives the terminal to `use`, and restores it afterwards. */
export async function onWholeScreen(use: (screen: Screen) => Promise<void>): Promise<void> {
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
