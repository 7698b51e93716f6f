import { StringDecoder } from 'node:string_decoder';

/** The longest line, in characters. The rest is dropped. */
const longestLine = 64 * 1024;

/** Splits a process's output into lines. The rest of a line that is too long is dropped. */
export class LogLines {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that a piece completes. */
  add(piece: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(piece)).split('\n');
    this.#rest = lines.pop()!.slice(0, longestLine);
    return lines.map(cleaned);
  }

  /** The last line, without an end of line. */
  end(): string[] {
    const last = this.#rest + this.#decoder.end();
    this.#rest = '';
    return last === '' ? [] : [cleaned(last)];
  }
}

function cleaned(line: string): string {
  const cut = line.length > longestLine ? line.slice(0, longestLine) : line;
  return cut.endsWith('\r') ? cut.slice(0, -1) : cut;
}
