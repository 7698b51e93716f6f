import type { Pool } from 'undici';
import { type Multipart, type Octets, type Operation, pathParameterNames } from '../contract/operation.ts';
import type { CallName } from './errors.ts';
import { multipart, type Segments } from './multipart.ts';
import type { Repeatability } from './retry.ts';

/** The last argument of every client function. */
export type CallOptions = {
  /** Aborts the call, its retry pauses and the streaming of its bodies; the call rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * Call timeout in milliseconds: until the answer's headers, over all retries.
   * It starts anew with each part of a body that is streamed, and limits each pause within the answer's body; an event stream may be
   * silent for as long as it likes.
   */
  timeout?: number;
  /** How often the call is repeated at most, where repeating it is safe. */
  maxRetries?: number;
  /** Further request headers. */
  headers?: Record<string, string>;
};

/** A body of raw bytes. A stream is sent as it is read, and destroyed with the call; it can't be sent again by a retry. */
export type Upload = Uint8Array | string | AsyncIterable<Uint8Array>;

/** Where calls go and what they have in common. */
export type Settings = {
  readonly pool: Pool;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  readonly origin: string;
  /** Path of the base URL, without a slash at its end. */
  readonly prefix: string;
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly callTimeout: number;
  readonly maxRetries: number;
};

/** One call, encoded: the same for each of its attempts. */
export type Call = CallName &
  Repeatability & {
    readonly method: Operation['method'];
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    /** A string is JSON. */
    readonly body: string | Segments | undefined;
    readonly timeout: number;
    /** The longest pause within the answer's body, in milliseconds; 0 is any. */
    readonly pauseLimit: number;
    readonly signal: AbortSignal | undefined;
  };

/**
 * Prepares the encoding of an operation's arguments: path parameters, then the body, then the query, then the options.
 * The returned function throws TypeErrors for arguments that can't be sent.
 */
export function encoder(operation: Operation, settings: Settings): (args: readonly unknown[]) => Call {
  const { method, body, query } = operation;
  const [start, ...literals] = operation.path.split(/\{\w+\}/);
  const names = pathParameterNames(operation.path);
  const queryIndex = queryPosition(operation);
  const optionsIndex = queryIndex + (query ? 1 : 0);
  const operationHeaders = { ...settings.headers, ...mediaTypes(operation) };
  const isEventStream = Object.values(operation.responses).some(({ kind }) => kind === 'events');
  const repeatable = operation.repeatable ?? (method === 'GET' || method === 'PUT' || method === 'DELETE');

  return (args) => {
    const options = (args[optionsIndex] ?? {}) as CallOptions;
    let path = settings.prefix + start!;
    for (let index = 0; index < names.length; index++) path += pathSegment(args[index], names[index]!) + literals[index]!;
    const form = isMultipart(body) ? multipart(formFields(args[names.length])) : undefined;
    const sent = form ? form.segments : body && (isOctets(body) ? [upload(args[names.length])] : JSON.stringify(args[names.length] ?? {}));
    const headers = form ? { ...operationHeaders, 'content-type': form.contentType } : operationHeaders;
    const timeout = options.timeout === undefined ? settings.callTimeout : checkedTimeout('timeout', options.timeout);
    return {
      method,
      path: query ? path + queryString(args[queryIndex]) : path,
      url: settings.origin + path,
      headers: options.headers ? { ...headers, ...lowerCased(options.headers) } : headers,
      body: sent,
      repeatable,
      oneShot: typeof sent === 'object' && sent.some((segment) => !(segment instanceof Uint8Array)),
      timeout,
      pauseLimit: isEventStream ? 0 : timeout,
      maxRetries: options.maxRetries === undefined ? settings.maxRetries : checkedRetries(options.maxRetries),
      signal: options.signal,
    };
  };
}

/** Where among a function's arguments the query is. */
export function queryPosition(operation: Operation): number {
  return pathParameterNames(operation.path).length + (operation.body ? 1 : 0);
}

/** Percent-encodes all but what the URL standard allows in a segment, so that a `/` within stays a part of it. */
export function pathSegment(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new TypeError(`${name} must be a string other than '', '.' and '..', not ${JSON.stringify(value)}`);
  }
  return /^[\w-]+$/.test(value) ? value : encodeURIComponent(value).replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

/** `?a=1&list=x%2Cy&tags%5Bteam%5D=a`, or nothing: lists are comma-joined, objects bracketed, null is empty, undefined left out. */
export function queryString(query: unknown): string {
  const pairs: string[] = [];
  addPairs(pairs, '', query as QueryValue);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** Throws a TypeError for what a timer can't hold. */
export function checkedTimeout(name: string, milliseconds: number): number {
  if (milliseconds >= 1 && milliseconds <= 2 ** 31 - 1) return milliseconds;
  throw new TypeError(`${name} must be between 1 and ${2 ** 31 - 1} milliseconds, not ${milliseconds}`);
}

export function checkedRetries(maxRetries: number): number {
  if (Number.isInteger(maxRetries) && maxRetries >= 0) return maxRetries;
  throw new TypeError(`maxRetries must be an integer of 0 or more, not ${maxRetries}`);
}

type Scalar = string | number | boolean | null | undefined;
type QueryValue = Scalar | readonly Scalar[] | { readonly [key: string]: QueryValue };

function addPairs(pairs: string[], name: string, value: QueryValue): void {
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && !isList(value)) {
    for (const [key, item] of Object.entries(value)) addPairs(pairs, name === '' ? key : `${name}[${key}]`, item);
    return;
  }
  const text = isList(value) ? value.join(',') : String(value ?? '');
  pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
}

function isList(value: QueryValue): value is readonly Scalar[] {
  return Array.isArray(value);
}

function formFields(value: unknown): object {
  if (typeof value === 'object' && value !== null) return value;
  throw new TypeError('the body must be an object with the fields of the form');
}

function upload(body: unknown): Exclude<Upload, string> {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array || (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)) return body as Uint8Array;
  throw new TypeError('the body must be a Uint8Array, a string, a Readable or another async iterable of Uint8Arrays');
}

function mediaTypes(operation: Operation): Record<string, string> {
  const { body } = operation;
  const accept = accepted(operation);
  return body && !isMultipart(body) ? { accept, 'content-type': isOctets(body) ? body.mediaType : 'application/json' } : { accept };
}

function accepted({ responses }: Operation): string {
  const answers = Object.values(responses);
  for (const answer of answers) {
    if (answer.kind === 'octets') return answer.mediaType;
    if (answer.kind === 'events') return 'text/event-stream';
  }
  return answers.every((answer) => answer.kind === 'empty') ? '*/*' : 'application/json';
}

function isOctets(body: NonNullable<Operation['body']>): body is Octets {
  return 'kind' in body && body.kind === 'octets';
}

function isMultipart(body: Operation['body']): body is Multipart {
  return body !== undefined && 'kind' in body && body.kind === 'multipart';
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
