import type { IncomingHttpHeaders } from 'node:http';
import { type Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { unsupportedFields, OperationError } from '../../../contract/errors.ts';
import type { Multipart } from '../../../contract/operation.ts';
import { unsupportedField } from '../../../contract/values.ts';
import { uncounted, type Claim } from '../../process/waiting-bytes.ts';
import { invalidInput } from '../answers/error-answer.ts';
import type { MultipartBody } from '../handler.ts';
import { assembled, fieldKind, fieldPath, type FieldPath } from './multipart-fields.ts';

/** The most files of a body that wait to be stored. Until fewer wait, the service reads no more of the body. */
const mostWaiting = 16;

/**
 * Limits for the text fields and the names of the parts together, in characters, and for the number of parts: they are
 * held in memory.
 */
const mostText = 8 * 1024 * 1024;
const mostParts = 100_000;

/**
 * Makes the object with which a handler reads a multipart body: its text fields, and its files as they arrive. Throws
 * `unsupported_media_type` if the headers name another type. With `isOpen`, unknown parts are ignored instead of
 * refused.
 */
export function multipartBody(
  body: Multipart,
  bytes: Readable,
  { 'content-type': contentType = '' }: IncomingHttpHeaders,
  { isOpen = false, waiting }: { isOpen?: boolean; waiting?: (() => Claim) | undefined } = {},
): MultipartBody {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) {
    const given = contentType.split(';')[0]!.trim();
    const problem = given ? `not ${given}` : 'and the request has no Content-Type header';
    throw new OperationError('unsupported_media_type', `the body must be multipart/form-data, ${problem}`);
  }
  return { receive: (store) => new Reception({ body, isOpen, waiting, contentType, store }).receive(bytes) as never };
}

type ReceptionOptions = {
  body: Multipart;
  isOpen: boolean;
  waiting: (() => Claim) | undefined;
  contentType: string;
  store: (file: Readable) => Promise<unknown>;
};

/** A multipart body that is being received. */
class Reception {
  readonly #options: ReceptionOptions;
  readonly #parser: BusboyInstance;
  readonly #fields = new Map<string, [FieldPath, unknown]>();
  /** The number of parts by their names. */
  readonly #received = new Map<string, number>();
  /** Files are stored one after another, because they go to one disk. */
  readonly #stores = new Set<Promise<void>>();
  readonly #open = new Set<Readable>();
  readonly #failure = new AbortController();
  /** Reads more of the body when few files wait. */
  #goOn: (() => void) | undefined;
  #lastStore: Promise<void> = Promise.resolve();
  #textSize = 0;

  constructor(options: ReceptionOptions) {
    this.#options = options;
    this.#parser = this.#createParser(options.contentType);
  }

  async receive(bytes: Readable): Promise<unknown> {
    const { signal } = this.#failure;
    try {
      await this.#parse(bytes, signal);
    } catch (error) {
      this.#fail(error);
    }
    for (const file of signal.aborted ? this.#open : []) file.destroy(signal.reason as Error);
    await Promise.all(this.#stores);
    signal.throwIfAborted();
    return this.#value();
  }

  async #parse(bytes: Readable, signal: AbortSignal): Promise<void> {
    const parser = this.#parser;
    let isFinished = false;
    parser.once('finish', () => (isFinished = true));
    const sink = new Writable({
      write: (chunk: Buffer, _, done) => {
        try {
          parser.write(chunk, () => this.#whenFewWait(done));
        } catch {
          this.#fail(malformed());
        }
      },
      final(done) {
        // `store` may finish before the last bytes, which then don't matter.
        if (isFinished) return done();
        parser.once('finish', () => done());
        parser.end();
      },
    });
    try {
      if (bytes.destroyed) throw brokenOff(bytes.errored);
      // A pipeline would destroy the connection of a refused body, and the answer needs it.
      bytes.once('error', (error) => this.#fail(brokenOff(error)));
      bytes.pipe(sink);
      await finished(sink, { signal });
    } finally {
      bytes.unpipe(sink);
    }
  }

  #whenFewWait(next: () => void): void {
    if (this.#stores.size <= mostWaiting) next();
    else this.#goOn = next;
  }

  #createParser(contentType: string): BusboyInstance {
    const isPartAFile = (name: string | undefined) => this.#kindOf(name) === 'file';
    try {
      return new Busboy({
        headers: { 'content-type': contentType },
        isPartAFile,
        limits: { parts: mostParts, fieldSize: mostText, headerPairs: 20 },
      })
        .on('file', (name, file) => this.#receiveFile(this.#nextPath(name), file))
        .on('field', (name, text) => this.#receiveText(this.#nextPath(name), text))
        .on('partsLimit', () =>
          this.#fail(new OperationError('payload_too_large', `the body has more than ${mostParts} parts`)),
        )
        .on('error', () => this.#fail(malformed()));
    } catch (error) {
      throw new OperationError('bad_request', 'the Content-Type header must name the boundary of the parts', {
        cause: error,
      });
    }
  }

  /** The path of the next part with this name. A malformed part has none. */
  #nextPath(name = ''): FieldPath {
    const nth = this.#received.get(name) ?? 0;
    if (nth === 0) this.#count(name);
    this.#received.set(name, nth + 1);
    return fieldPath(name, this.#options.body, nth);
  }

  /** Runs before a part is read, so that an unwanted file isn't awaited. */
  #kindOf(name: string | undefined): 'file' | 'text' {
    const path = fieldPath(name ?? '', this.#options.body);
    const kind = fieldKind(path, this.#options.body);
    if (kind === undefined && !this.#options.isOpen) this.#fail(invalidField(path, 'unknown field'));
    // Unknown parts that are ignored count as files, because a file can be dropped while it arrives.
    return kind ?? (this.#options.isOpen ? 'file' : 'text');
  }

  #receiveFile(path: FieldPath, file: Readable): void {
    // The parser reports it too.
    file.on('error', () => {});
    if (this.#options.isOpen && fieldKind(path, this.#options.body) === undefined) return void file.resume();
    this.#open.add(file);
    const stored: Promise<void> = this.#storeAfter(this.#lastStore, path, file).finally(() => {
      this.#stores.delete(stored);
      const goOn = this.#goOn;
      this.#goOn = undefined;
      if (goOn) this.#whenFewWait(goOn);
    });
    this.#lastStore = stored;
    this.#stores.add(stored);
  }

  async #storeAfter(before: Promise<void>, path: FieldPath, file: Readable): Promise<void> {
    await before;
    try {
      if (!this.#failure.signal.aborted) this.#keep(path, await this.#options.store(file));
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#open.delete(file);
    }
  }

  #receiveText(path: FieldPath, text: string): void {
    this.#count(text);
    if (!this.#failure.signal.aborted) this.#keep(path, text);
  }

  #count(text: string): void {
    const before = this.#textSize;
    this.#textSize += text.length;
    try {
      if (this.#textSize > uncounted) this.#options.waiting?.().take(before > uncounted ? text.length : this.#textSize);
    } catch (error) {
      this.#fail(error);
    }
    // The parser cuts off a longer field at this size.
    if (this.#textSize >= mostText)
      this.#fail(
        new OperationError(
          'payload_too_large',
          `the text fields and names together reach the limit of ${mostText} characters: send less text`,
        ),
      );
  }

  #keep(path: FieldPath, value: unknown): void {
    const name = JSON.stringify(path);
    if (this.#fields.has(name)) this.#fail(invalidField(path, 'was sent twice'));
    this.#fields.set(name, [path, value]);
  }

  #fail(error: unknown): void {
    this.#failure.abort(error);
  }

  #value(): unknown {
    const { shape } = this.#options.body.schema;
    for (const [[name = '']] of this.#fields.values())
      if (shape[name] === unsupportedField) throw unsupportedFields([name], 'send the other fields instead');
    const result = this.#options.body.schema.safeParse(assembled(this.#fields.values(), this.#options.body));
    if (!result.success) throw invalidInput(result.error.issues, 'body');
    return result.data;
  }
}

function invalidField(path: FieldPath, message: string): OperationError {
  return invalidInput([{ code: 'custom', path: [...path], message }], 'body');
}

function malformed(): OperationError {
  return new OperationError('bad_request', 'the body is not valid multipart/form-data, or broke off before its end');
}

function brokenOff(error: Error | null): OperationError {
  if (error instanceof OperationError) return error;
  return new OperationError('bad_request', 'the upload broke off before its end', { cause: error });
}
