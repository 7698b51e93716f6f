import { createHash } from 'node:crypto';
import { appendFile, type FileHandle, readFile, writeFile } from 'node:fs/promises';

/** An undamaged part of a download. `next` is the cursor of the next chunk. The last chunk has none. */
export type DownloadedChunk = Noted & { body: Buffer };

type Noted = { rows: number; sha256: string; next?: string | undefined };
type JournalLine = Noted & { bytes: number };

/**
 * A download that can be interrupted and resumed: a file that grows chunk by chunk, and a journal with a line for the
 * source and one for each chunk.
 */
export class UnfinishedDownload {
  readonly #part: FileHandle;
  readonly #journal: string;
  readonly #lines: JournalLine[];

  private constructor(part: FileHandle, journal: string, lines: JournalLine[]) {
    this.#part = part;
    this.#journal = journal;
    this.#lines = lines;
  }

  /**
   * Begins a download, or resumes an earlier one from the same source after its undamaged chunks. `part` is the file, open
   * for reading and appending.
   */
  static async open(part: FileHandle, journal: string, source: object): Promise<UnfinishedDownload> {
    const head = JSON.stringify(source);
    const [found, ...lines] = await linesOf(journal);
    const intact = found === head ? await intactChunks(part, lines) : [];
    const opened = new UnfinishedDownload(part, journal, intact);
    await part.truncate(opened.progress.bytes);
    await writeFile(journal, [head, ...intact.map((line) => JSON.stringify(line)), ''].join('\n'), { mode: 0o600 });
    return opened;
  }

  get progress(): { bytes: number; rows: number; chunks: number } {
    const sum = (key: 'bytes' | 'rows') => this.#lines.reduce((total, line) => total + line[key], 0);
    return { bytes: sum('bytes'), rows: sum('rows'), chunks: this.#lines.length };
  }

  get isComplete(): boolean {
    return this.#lines.length > 0 && this.cursor === undefined;
  }

  /** The cursor of the next chunk. `undefined` before the first chunk, and after the last one. */
  get cursor(): string | undefined {
    return this.#lines.at(-1)?.next;
  }

  hasUsed(cursor: string): boolean {
    return this.#lines.some(({ next }) => next === cursor);
  }

  async append({ body, ...noted }: DownloadedChunk): Promise<void> {
    const line = { bytes: body.length, ...noted };
    await this.#part.appendFile(body);
    await appendFile(this.#journal, `${JSON.stringify(line)}\n`);
    this.#lines.push(line);
  }
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n');
}

async function intactChunks(part: FileHandle, lines: string[]): Promise<JournalLine[]> {
  const intact: JournalLine[] = [];
  let position = 0;
  for (const text of lines) {
    const line = chunkIn(text);
    if (!line) break;
    const { buffer, bytesRead } = await part.read(Buffer.alloc(line.bytes), 0, line.bytes, position);
    if (bytesRead < line.bytes || createHash('sha256').update(buffer).digest('hex') !== line.sha256) break;
    intact.push(line);
    position += line.bytes;
  }
  return intact;
}

/** The chunk in a line of the journal. `undefined` for a damaged line: incomplete, or zeros after a power failure. */
function chunkIn(text: string): JournalLine | undefined {
  try {
    return JSON.parse(text) as JournalLine;
  } catch {
    return undefined;
  }
}
