import { PassThrough, type Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { Dispatcher } from 'undici';
import type { ErrorObject } from '../contract/error-object.ts';
import { pageHeaders } from '../contract/headers.ts';
import { empty, type Operation, type ListPage, type ResponseKind, type TokenListPage } from '../contract/operation.ts';
import type { Deadline } from './deadline.ts';
import type { OpenEvents } from './event-stream.ts';
import { type ErrorAnswer, type ServiceError, serviceError } from './errors.ts';
import type { Call, Settings } from './request.ts';
import { transportError } from './transport-error.ts';

export type Answer = Dispatcher.ResponseData<unknown>;

/** Reads an answer. Resolves to the result of the client function. Closes the deadline when the answer is complete. */
export type Reader = (answer: Answer, call: Call, deadline: Deadline) => Promise<unknown>;

/**
 * An answer of raw bytes. Read it once: as `stream`, or whole by `bytes()` or `text()`. Destroy an unread stream: it
 * holds its connection.
 */
export type Bytes = {
  status: number;
  contentType: string | undefined;
  /** In bytes, if the service sent `Content-Length`. */
  size: number | undefined;
  /** The name's case doesn't matter. */
  header(name: string): string | undefined;
  /** Fails with a ConnectionError if the answer breaks off. */
  stream: Readable;
  bytes(): Promise<Buffer>;
  text(): Promise<string>;
};

/** Creates the function that reads the answers of an operation. */
export function reader(operation: Operation, { apiKey }: Settings): Reader {
  const kinds = operation.responses;
  const usual = Object.values(kinds).find((kind) => kind.kind !== 'empty') ?? empty;
  return async (answer, call, deadline) => {
    const status = answer.statusCode;
    if (status >= 300) throw await readError(answer, call, apiKey);
    const kind: ResponseKind = status === 204 ? empty : (kinds[status] ?? usual);
    if (kind.kind === 'octets') return readBytes(answer, call, deadline);
    if (kind.kind === 'events') return openEvents(answer, call, deadline);
    const value = kind.kind === 'empty' ? await answer.body.dump() : await readJSON(answer, call, apiKey);
    deadline.close();
    if (kind.kind === 'empty') return undefined;
    if (kind.kind === 'list') return page(value, answer, call);
    return kind.kind === 'token_list' ? tokenPage(value, answer, call) : value;
  };
}

async function readJSON(answer: Answer, call: Call, apiKey: string): Promise<unknown> {
  let json;
  try {
    json = await answer.body.text();
  } catch (error) {
    throw transportError(error, call);
  }
  try {
    return JSON.parse(json);
  } catch {
    throw invalidAnswer(
      answer,
      call,
      `the answer is not JSON but ${JSON.stringify(shortened(redacted(json, apiKey)))}`,
    );
  }
}

function page(items: unknown, answer: Answer, call: Call): ListPage<unknown> {
  if (!Array.isArray(items)) throw invalidAnswer(answer, call, 'the answer is not a list');
  const next = Number.parseInt(header(answer, pageHeaders.nextOffset) ?? '', 10);
  const more = header(answer, pageHeaders.hasMore);
  if (more === 'true' && Number.isNaN(next) && items.length > 0) {
    throw invalidAnswer(
      answer,
      call,
      `the answer has the header ${pageHeaders.hasMore}: true, but no ${pageHeaders.nextOffset}`,
    );
  }
  const nextOffset = next > 0 ? next : 0;
  return { items, hasMore: more === undefined ? nextOffset > 0 : more === 'true', nextOffset };
}

function tokenPage(items: unknown, answer: Answer, call: Call): TokenListPage<unknown> {
  if (!Array.isArray(items)) throw invalidAnswer(answer, call, 'the answer is not a list');
  return { items, nextPageToken: header(answer, pageHeaders.nextPageToken) || undefined };
}

function readBytes(answer: Answer, call: Call, deadline: Deadline): Bytes {
  const { body } = answer;
  const stream = new PassThrough({ highWaterMark: 64 * 1024 });
  body.on('error', (error) => stream.destroy(deadline.aborted ? error : transportError(error, call)));
  // Without a listener, an unread answer that breaks off would end the process.
  stream.on('error', () => {});
  stream.on('close', () => {
    body.destroy();
    deadline.close();
  });
  body.pipe(stream);
  return {
    status: answer.statusCode,
    contentType: header(answer, 'Content-Type'),
    size: optionalNumber(header(answer, 'Content-Length')),
    header: (name) => header(answer, name),
    stream,
    bytes: () => buffer(stream),
    text: () => text(stream),
  };
}

function openEvents(answer: Answer, call: Call, deadline: Deadline): OpenEvents {
  const { stream, contentType } = readBytes(answer, call, deadline);
  const invalid = (message: string) => invalidAnswer(answer, call, message);
  if (/^text\/event-stream\b/i.test(contentType ?? '')) return { stream, invalid };
  stream.destroy();
  throw invalid(`the answer is not an event stream: its content type is ${contentType ?? 'missing'}`);
}

/** The longest text in a message, in characters: a gateway may answer with a whole page. */
const longestMessage = 500;
/** The rest of a longer error answer isn't read. In bytes. */
const longestErrorBody = 64 * 1024;
const baseURLAdvice = 'Check that the base URL belongs to the service';

async function readError(answer: Answer, call: Call, apiKey: string): Promise<ServiceError> {
  const text = redacted(await errorText(answer), apiKey);
  const { code, message, details } = errorObject(text);
  return serviceError({
    ...names(answer, call),
    code,
    message: message ?? plainMessage(answer, text.trim()),
    details,
    retryAfter: retryAfter(answer),
    shouldRetry: shouldRetry(answer),
  });
}

function plainMessage(answer: Answer, text: string): string {
  const location = header(answer, 'Location')?.split('?')[0];
  if (location !== undefined) return `redirected to ${location}. Set the base URL to the address of the service`;
  if (text === '') return `the answer has no text. ${baseURLAdvice}`;
  const message = shortened(text.replaceAll(/\s+/g, ' '));
  // The service itself answers with an error object, and gateways use other statuses.
  return [404, 405, 501].includes(answer.statusCode) ? `${message}. ${baseURLAdvice}` : message;
}

/** The text of an error answer, up to the limit or until the answer breaks off. */
async function errorText({ body }: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > longestErrorBody) break;
    }
  } catch {}
  return Buffer.concat(chunks).toString();
}

/** Reads the service's error object. Empty if the text isn't one. The code may be missing. */
function errorObject(text: string): Partial<ErrorObject> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {};
  }
  const { code, message, details } = (value ?? {}) as Record<string, unknown>;
  if (typeof message !== 'string') return {};
  return {
    message,
    ...(typeof code === 'string' && { code }),
    ...(Array.isArray(details) && { details: details as ErrorObject['details'] }),
  };
}

/** In milliseconds, from the first valid header: milliseconds, seconds or a date. */
function retryAfter(answer: Answer): number | undefined {
  const milliseconds = optionalNumber(header(answer, 'retry-after-ms'));
  if (milliseconds !== undefined) return Math.max(0, milliseconds);
  const value = header(answer, 'Retry-After');
  const seconds = optionalNumber(value);
  if (seconds !== undefined) return Math.max(0, seconds * 1000);
  const date = Date.parse(value ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function shouldRetry(answer: Answer): boolean | undefined {
  const value = header(answer, 'x-should-retry');
  return value === 'true' || value === 'false' ? value === 'true' : undefined;
}

function invalidAnswer(answer: Answer, call: Call, message: string): ServiceError {
  return serviceError({ ...names(answer, call), code: 'invalid_answer', message: `${message}. ${baseURLAdvice}` });
}

function names(answer: Answer, { method, url }: Call): Omit<ErrorAnswer, 'message'> {
  return { status: answer.statusCode, method, url, requestId: header(answer, 'x-request-id') };
}

function header(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

function optionalNumber(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

function shortened(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text;
}

/** Removes the API key from a text: a server may repeat the request in its answer. */
function redacted(text: string, apiKey: string): string {
  return text.replaceAll(apiKey, '[API key]');
}
