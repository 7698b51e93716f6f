/** A command of a CDP client. `params` is undecoded JSON; `sessionId` is empty for the browser itself. */
export type ClientCommand = { id: number; method: string; sessionId: string; params: Buffer };

/** A frame of a client that isn't a command, with the error code that Chromium has for it. */
export class FrameError extends Error {
  override name = 'FrameError';
  readonly code: number;
  readonly id: number | undefined;

  constructor(code: number, message: string, id?: number) {
    super(message);
    this.code = code;
    this.id = id;
  }
}

const [minimumInteger, maximumInteger] = [-(2 ** 31), 2 ** 31 - 1];
/** Ids of the service have 11 characters, so that any id of a client fits in their place. */
export const firstId = minimumInteger;
export const lastId = -(10 ** 9);

/**
 * Reads a command without decoding its parameters, in linear time. Throws `FrameError` for a frame that Chromium could
 * read in another way: one with a repeated key, comments, control characters or text after the object.
 */
export function readCommand(frame: Buffer): ClientCommand {
  const members = readMembers(frame);
  const id = decode(members.get('id'));
  if (typeof id !== 'number' || !Number.isInteger(id) || id < minimumInteger || id > maximumInteger)
    throw new FrameError(-32600, "Message must have integer 'id' property");
  const method = decode(members.get('method'));
  if (typeof method !== 'string') throw new FrameError(-32600, "Message must have string 'method' property", id);
  const sessionId = decode(members.get('sessionId')) ?? '';
  if (typeof sessionId !== 'string') throw new FrameError(-32600, "Message may have string 'sessionId' property", id);
  const params = members.get('params') ?? noParameters;
  // Chromium's answer to malformed parameters has no id. Longer ones cost too much time here.
  if (params.length <= longestChecked) decode(params);
  return { id, method, sessionId, params };
}

/** A frame for Chromium, with the NUL that ends it. */
export function writeCommand({ id, method, sessionId, params }: ClientCommand): Buffer {
  const session = sessionId === '' ? '' : `,"sessionId":${JSON.stringify(sessionId)}`;
  const head = `{"id":${id},"method":${JSON.stringify(method)}${session},"params":`;
  return Buffer.concat([Buffer.from(head), params, Buffer.from('}\0')]);
}

/** The id of an answer of Chromium, which writes it first; `undefined` for an event. */
export function idOf(frame: Buffer): number | undefined {
  const [, digits] = /^\{"id":(-?\d+)/.exec(frame.toString('latin1', 0, 20)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The method of an event of Chromium, which writes it first. */
export function eventOf(frame: Buffer): string | undefined {
  return /^\{"method":"([\w.]+)"/.exec(frame.toString('latin1', 0, 80))?.[1];
}

/** The CDP session of a message of Chromium, which writes it last. */
export function sessionOf(frame: Buffer): string | undefined {
  return /,"sessionId":"(\w+)"\}$/.exec(frame.toString('latin1', Math.max(0, frame.length - 80)))?.[1];
}

/** Gives an answer to a command of the service the id of the client's command. Overwrites the frame. */
export function withId(frame: Buffer, id: number): Buffer {
  const head = `{"id":${id}`;
  const start = frame.indexOf(',') - head.length;
  frame.write(head, start, 'latin1');
  return frame.subarray(start);
}

/** The message without the CDP session at its end. Overwrites the frame. */
export function withoutSession(frame: Buffer, sessionId: string): Buffer {
  const end = frame.length - `,"sessionId":"${sessionId}"}`.length;
  frame[end] = closingBrace;
  return frame.subarray(0, end + 1);
}

const noParameters = Buffer.from('{}');
/** In bytes. */
const longestChecked = 1024 ** 2;
const [quote, comma, colon, backslash, openingBrace, closingBrace] = [0x22, 0x2c, 0x3a, 0x5c, 0x7b, 0x7d] as const;

/** The bytes that may be outside strings. */
const [space, literal, separator, opening, closing] = [1, 2, 3, 4, 5];
const kinds = new Uint8Array(256);
for (const [kind, characters] of [
  [space, ' \t\n\r'],
  [literal, '0123456789+-.eEtrufalsn'],
  [separator, ',:'],
  [opening, '{['],
  [closing, '}]'],
] as const)
  for (const byte of Buffer.from(characters)) kinds[byte] = kind;

/** The values of a JSON object by their keys, undecoded. */
function readMembers(frame: Buffer): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  let at = skipSpace(frame, 0);
  if (frame[at] !== openingBrace) throw malformed(at);
  do {
    at = skipSpace(frame, at + 1);
    const keyEnd = skipString(frame, at);
    const key = decode(frame.subarray(at, keyEnd)) as string;
    if (!knownKeys.has(key) || members.has(key)) throw unexpected(key, members.has(key));
    at = skipSpace(frame, keyEnd);
    if (frame[at] !== colon) throw malformed(at);
    const start = skipSpace(frame, at + 1);
    const end = skipValue(frame, start);
    members.set(key, frame.subarray(start, end));
    at = skipSpace(frame, end);
  } while (frame[at] === comma);
  if (frame[at] !== closingBrace || skipSpace(frame, at + 1) !== frame.length) throw malformed(at);
  return members;
}

const knownKeys: ReadonlySet<string> = new Set(['id', 'method', 'params', 'sessionId']);

function skipSpace(frame: Buffer, at: number): number {
  while (kinds[frame[at]!] === space) at++;
  return at;
}

/** Returns the end of the string that begins at `at`. */
function skipString(frame: Buffer, at: number): number {
  if (frame[at] !== quote) throw malformed(at);
  for (at++; at < frame.length; at++) {
    const byte = frame[at]!;
    if (byte === quote) return at + 1;
    if (byte < 0x20) break;
    if (byte === backslash) at++;
  }
  throw malformed(at);
}

/**
 * Returns the end of the value that begins at `start`. Within brackets it checks only strings, brackets and forbidden
 * bytes.
 */
function skipValue(frame: Buffer, start: number): number {
  let at = start;
  if (kinds[frame[at]!] !== opening) {
    if (frame[at] === quote) return skipString(frame, at);
    while (kinds[frame[at]!] === literal) at++;
    if (at === start) throw malformed(at);
    return at;
  }
  let depth = 0;
  do {
    const byte = frame[at]!;
    const kind = kinds[byte]!;
    if (kind === opening) depth++;
    else if (kind === closing) depth--;
    else if (byte !== quote && kind === 0) throw malformed(at);
    at = byte === quote ? skipString(frame, at) : at + 1;
  } while (depth > 0 && at < frame.length);
  return at;
}

function decode(json: Buffer | undefined): unknown {
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json.toString()) as unknown;
  } catch {
    throw new FrameError(-32700, 'JSON: a value is malformed');
  }
}

function malformed(at: number): FrameError {
  return new FrameError(-32700, `JSON: malformed at position ${at}`);
}

function unexpected(key: string, isTwice: boolean): FrameError {
  if (isTwice) return new FrameError(-32700, `JSON: the key '${key}' appears twice`);
  return new FrameError(-32600, "Message has property other than 'id', 'method', 'sessionId', 'params'");
}
