/** The most kept lines, and the longest one in characters. */
const mostLines = 1000;
const longestLine = 64 * 1024;

export type OutputLine = { text: string; /** In ms since the epoch. */ at: number };

/** Keeps the last lines that a process wrote, for error messages and log streams. */
export class OutputLines {
  readonly #kept: OutputLine[] = [];
  readonly #listeners = new Set<(line: OutputLine) => void>();
  #rest = '';

  write(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, longestLine);
    for (const line of lines) if (line.trim() !== '') this.#add({ text: line.slice(0, longestLine), at: Date.now() });
  }

  get kept(): readonly OutputLine[] {
    return this.#kept;
  }

  /** The end of all that was written, also of a line that isn't complete. */
  get last(): string {
    return [...this.#kept.slice(-20).map(({ text }) => text), this.#rest].join('\n');
  }

  /** Calls back for each new line until the returned function is called. */
  onLine(listener: (line: OutputLine) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #add(line: OutputLine): void {
    this.#kept.push(line);
    if (this.#kept.length > mostLines) this.#kept.shift();
    for (const listener of this.#listeners) listener(line);
  }
}
