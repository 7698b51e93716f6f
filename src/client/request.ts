import type { Pool } from 'undici';
import {
  isRepeatable,
  type Multipart,
  type Octets,
  type Operation,
  pathParameterNames,
} from '../contract/operation.ts';
import type { CallName } from './errors.ts';
import { multipart, type Segments } from './multipart.ts';
import type { Repeatability } from './retry.ts';

/** The last argument of every client function. */
export type CallOptions = {
  /** Aborts the call, its retry pauses and its body streams; the call rejects with the signal's reason. */
  signal?: AbortSignal;
  /**
   * The longest wait for the answer's headers, in milliseconds, over all retries. Each sent part of a streamed body
   * restarts it. It also limits each pause within the answer's body, except in event streams.
   */
  timeout?: number;
  /** The most retries if the call is safe to repeat. */
  maxRetries?: number;
  headers?: Record<string, string>;
};

/** A body of raw bytes. A stream is destroyed at the end of the call, and a call with a stream is never retried. */
export type Upload = Uint8Array | string | AsyncIterable<Uint8Array>;

export type Settings = {
  readonly pool: Pool;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  readonly origin: string;
  /** Path of the base URL without a trailing slash. */
  readonly prefix: string;
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly callTimeout: number;
  readonly maxRetries: number;
};

/** An encoded call, the same for each attempt. */
export type Call = CallName &
  Repeatability & {
    readonly method: Operation['method'];
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    /** A string is JSON. */
    readonly body: string | Segments | undefined;
    readonly timeout: number;
    /** The longest pause within the answer's body, in milliseconds; 0 is no limit. */
    readonly pauseLimit: number;
    /** Whether the answer is an event stream that the service never leaves silent. */
    readonly isKeptAlive: boolean;
    readonly signal: AbortSignal | undefined;
  };

/** Services send a comment or a heartbeat every 15 to 30 s in streams that can be resumed. */
const longestSilenceMs = 75_000;

/**
 * Returns a function that turns the arguments of a client function (path parameters, body, query, options) into a call. It
 * throws a TypeError for invalid arguments.
 */
export function encoder(operation: Operation, settings: Settings): (args: readonly unknown[]) => Call {
  const { method, body, query } = operation;
  const [start, ...literals] = operation.path.split(/\{\w+\}/);
  const names = pathParameterNames(operation.path);
  const queryIndex = queryPosition(operation);
  const optionsIndex = queryIndex + (query ? 1 : 0);
  const operationHeaders = { ...settings.headers, ...mediaTypes(operation) };
  const isEventStream = Object.values(operation.responses).some(({ kind }) => kind === 'events');
  const isKeptAlive = operation.resumable !== undefined;
  const repeatable = isRepeatable(operation);

  return (args) => {
    const options = (args[optionsIndex] ?? {}) as CallOptions;
    let path = settings.prefix + start!;
    for (let index = 0; index < names.length; index++)
      path += pathSegment(args[index], names[index]!) + literals[index]!;
    const form = isMultipart(body) ? multipart(formFields(args[names.length])) : undefined;
    const sent = form
      ? form.segments
      : body && (isOctets(body) ? [upload(args[names.length])] : JSON.stringify(args[names.length] ?? {}));
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
      pauseLimit: isKeptAlive ? longestSilenceMs : isEventStream ? 0 : timeout,
      isKeptAlive,
      maxRetries: options.maxRetries === undefined ? settings.maxRetries : checkedRetries(options.maxRetries),
      signal: options.signal,
    };
  };
}

/** The position of the query among the arguments of a client function. */
export function queryPosition(operation: Operation): number {
  return pathParameterNames(operation.path).length + (operation.body ? 1 : 0);
}

/** Encodes a path parameter: percent-encodes all characters that the URL standard doesn't allow in a segment, and `/`. */
export function pathSegment(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new TypeError(`${name} must be a string other than '', '.' and '..', not ${JSON.stringify(value)}`);
  }
  return /^[\w-]+$/.test(value)
    ? value
    : encodeURIComponent(value).replaceAll(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

/**
 * Encodes a query, for example `?a=1&list=x%2Cy&tags%5Bteam%5D=a`. Joins lists by commas, puts keys of objects in brackets,
 * and skips undefined values. Empty without a value.
 */
export function queryString(query: unknown): string {
  const pairs: string[] = [];
  addPairs(pairs, '', query as QueryValue);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** Returns the time if it is valid. Throws a TypeError for times that Node's timers don't support. */
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
  if (body instanceof Uint8Array || (typeof body === 'object' && body !== null && Symbol.asyncIterator in body))
    return body as Uint8Array;
  throw new TypeError('the body must be a Uint8Array, a string, a Readable or another async iterable of Uint8Arrays');
}

function mediaTypes(operation: Operation): Record<string, string> {
  const { body } = operation;
  const accept = accepted(operation);
  return body && !isMultipart(body)
    ? { accept, 'content-type': isOctets(body) ? body.mediaType : 'application/json' }
    : { accept };
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
