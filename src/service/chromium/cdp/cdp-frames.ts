/** A command of a CDP client. `params` is undecoded JSON; `sessionId` is empty for the browser itself. */
export type ClientCommand = { id: number; method: string; sessionId: string; params: Buffer };

/** A frame of a client that isn't a command. Has the error code and text with which Chromium would answer it. */
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
  const { id, method, sessionId = '', params = noParameters } = readMembers(frame);
  if (typeof id !== 'number' || !Number.isInteger(id) || id < minimumInteger || id > maximumInteger)
    throw new FrameError(-32600, "Message must have integer 'id' property");
  if (typeof method !== 'string') throw new FrameError(-32600, "Message must have string 'method' property", id);
  if (typeof sessionId !== 'string') throw new FrameError(-32600, "Message may have string 'sessionId' property", id);
  // Chromium's answer to malformed parameters has no id. Longer ones cost too much time here.
  if (params.length <= longestChecked) decode(params.toString());
  return { id, method, sessionId, params };
}

/** Writes a command as a frame for Chromium, with the NUL character that ends it. */
export function writeCommand({ id, method, sessionId, params }: ClientCommand): Buffer {
  const session = sessionId === '' ? '' : `,"sessionId":${JSON.stringify(sessionId)}`;
  const head = `{"id":${id},"method":${JSON.stringify(method)}${session},"params":`;
  const headLength = Buffer.byteLength(head);
  const frame = Buffer.allocUnsafe(headLength + params.length + 2);
  frame.write(head);
  frame.set(params, headLength);
  frame[frame.length - 2] = closingBrace;
  frame[frame.length - 1] = 0;
  return frame;
}

/** Reads the id of an answer of Chromium; `undefined` for an event. Chromium writes the id at the beginning. */
export function idOf(frame: Buffer): number | undefined {
  if (!hasAt(frame, 0, idKey)) return undefined;
  return integerAt(frame, idKey.length, skipInteger(frame, idKey.length));
}

/** Reads the method of an event of Chromium. Chromium writes the method at the beginning. */
export function eventOf(frame: Buffer): string | undefined {
  if (!hasAt(frame, 0, methodKey)) return undefined;
  let end = methodKey.length;
  while (isWord[frame[end]!] || frame[end] === dot) end++;
  return frame[end] === quote ? frame.toString('latin1', methodKey.length, end) : undefined;
}

/** Reads the CDP session of a message of Chromium. Chromium writes the session at the end. */
export function sessionOf(frame: Buffer): string | undefined {
  const end = frame.length - 2;
  if (frame[end] !== quote || frame[end + 1] !== closingBrace) return undefined;
  let start = end;
  while (isWord[frame[start - 1]!]) start--;
  if (start === end || !hasAt(frame, start - sessionKey.length, sessionKey)) return undefined;
  return frame.toString('latin1', start, end);
}

/** Replaces the id in an answer by the id that the client used for its command. Overwrites the frame. */
export function withId(frame: Buffer, id: number): Buffer {
  const head = `{"id":${id}`;
  const start = frame.indexOf(comma) - head.length;
  frame.write(head, start, 'latin1');
  return frame.subarray(start);
}

/** Removes the CDP session from the end of a message. Overwrites the frame. */
export function withoutSession(frame: Buffer, sessionId: string): Buffer {
  const end = frame.length - `,"sessionId":"${sessionId}"}`.length;
  frame[end] = closingBrace;
  return frame.subarray(0, end + 1);
}

const noParameters = Buffer.from('{}');
const idKey = Buffer.from('{"id":');
const methodKey = Buffer.from('{"method":"');
const sessionKey = Buffer.from(',"sessionId":"');
/** Longer parameters aren't checked. In bytes. */
const longestChecked = 1024 ** 2;
const [quote, comma, minus, dot, zero, colon] = [0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x3a] as const;
const [backslash, openingBrace, closingBrace] = [0x5c, 0x7b, 0x7d] as const;

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

/** Which bytes are letters, digits or underscores. */
const isWord = Uint8Array.from({ length: 256 }, (_, byte) => Number(/\w/.test(String.fromCharCode(byte))));

/** The values of a command. `params` is undecoded. */
type Members = { id?: unknown; method?: unknown; sessionId?: unknown; params?: Buffer };

function readMembers(frame: Buffer): Members {
  const members: Members = {};
  let at = skipSpace(frame, 0);
  if (frame[at] !== openingBrace) throw malformed(at);
  do {
    at = skipSpace(frame, at + 1);
    const keyEnd = skipString(frame, at);
    const key = valueAt(frame, at, keyEnd) as string;
    if (!isKnown(key)) throw new FrameError(-32600, unknownKey);
    if (members[key] !== undefined) throw new FrameError(-32700, `JSON: the key '${key}' appears twice`);
    at = skipSpace(frame, keyEnd);
    if (frame[at] !== colon) throw malformed(at);
    const start = skipSpace(frame, at + 1);
    const end = skipValue(frame, start);
    if (key === 'params') members.params = frame.subarray(start, end);
    else members[key] = valueAt(frame, start, end);
    at = skipSpace(frame, end);
  } while (frame[at] === comma);
  if (frame[at] !== closingBrace || skipSpace(frame, at + 1) !== frame.length) throw malformed(at);
  return members;
}

const knownKeys = ['id', 'method', 'sessionId', 'params'] as const;
const unknownKey = "Message has property other than 'id', 'method', 'sessionId', 'params'";

function isKnown(key: string): key is keyof Members {
  return (knownKeys as readonly string[]).includes(key);
}

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

/** Decodes a value. Reads most without the cost of `JSON.parse`. */
function valueAt(frame: Buffer, start: number, end: number): unknown {
  if (frame[start] === quote && isPlain(frame, start + 1, end - 1)) return frame.toString('latin1', start + 1, end - 1);
  if (skipInteger(frame, start) === end) return integerAt(frame, start, end);
  return decode(frame.toString('utf8', start, end));
}

/** Whether a string has only ASCII characters without escapes. */
function isPlain(frame: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (frame[at] === backslash || frame[at]! >= 0x80) return false;
  return true;
}

/** Returns the end of the integer that begins at `start`, which is `start` if there is none of at most 15 digits. */
function skipInteger(frame: Buffer, start: number): number {
  const first = frame[start] === minus ? start + 1 : start;
  let at = first;
  while (isDigit(frame[at])) at++;
  const isNumber = at > first && at - first <= 15 && (frame[first] !== zero || at - first === 1);
  return isNumber ? at : start;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= zero + 9;
}

function integerAt(frame: Buffer, start: number, end: number): number | undefined {
  if (start === end) return undefined;
  const isNegative = frame[start] === minus;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++) value = value * 10 + frame[at]! - zero;
  return isNegative ? -value : value;
}

function hasAt(frame: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (frame[at + index] !== text[index]) return false;
  return true;
}

function decode(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    throw new FrameError(-32700, 'JSON: a value is malformed');
  }
}

function malformed(at: number): FrameError {
  return new FrameError(-32700, `JSON: malformed at position ${at}`);
}
