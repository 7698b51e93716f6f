import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Deadline } from './deadline.ts';
import { CallTimeoutError } from './errors.ts';
import type { Segments } from './multipart.ts';
import type { Call, Settings } from './request.ts';
import type { Answer, Reader } from './response.ts';
import { withRetries } from './retry.ts';
import { sendError } from './transport-error.ts';

/** Sends a call, with retries, and reads its answer. Destroys the body's streams in the end, even unsent ones. */
export async function perform(settings: Settings, call: Call, read: Reader): Promise<unknown> {
  if (!call.oneShot) return await performInTime(settings, call, read);
  const streams = (call.body as Segments).filter((segment) => segment instanceof Readable);
  // Without a listener, a stream that fails before it is read would end the process. Reading reports the failure.
  for (const stream of streams) stream.on('error', () => {});
  try {
    return await performInTime(settings, call, read);
  } finally {
    for (const stream of streams) stream.destroy();
  }
}

async function performInTime(settings: Settings, call: Call, read: Reader): Promise<unknown> {
  const deadline = new Deadline(
    call.timeout,
    call.signal,
    (cause) => new CallTimeoutError(call, call.timeout, 'answer', cause),
  );
  try {
    const attempt = async () => await read(await send(settings, call, deadline), call, deadline);
    return await withRetries(call, deadline, settings.closing, attempt);
  } catch (error) {
    deadline.close();
    // After an abort, throw the abort's reason: the error is only its consequence.
    throw deadline.aborted ? deadline.reason : error;
  }
}

/** The size of the parts in which a large body is sent, in bytes. Each sent part restarts the deadline. */
const partSize = 1024 * 1024;

async function send({ pool }: Settings, call: Call, deadline: Deadline): Promise<Answer> {
  const { method, path, pauseLimit } = call;
  const { body, length } = encodedBody(call, deadline);
  deadline.start();
  try {
    // Wait one turn of the event loop: a connection whose answer was just read is free then. Otherwise undici opens another.
    await setImmediate();
    return await pool.request({
      method,
      path,
      headers: length === undefined ? call.headers : { ...call.headers, 'content-length': String(length) },
      body,
      signal: deadline,
      headersTimeout: 0,
      bodyTimeout: pauseLimit,
    });
  } catch (error) {
    throw await sendError(error, call, deadline);
  } finally {
    deadline.pause();
  }
}

/** The body in the form that undici takes, with its length if undici can't find it out. */
function encodedBody(
  { body, oneShot }: Call,
  deadline: Deadline,
): { body: string | Uint8Array | Readable | null; length?: number } {
  if (body === undefined || typeof body === 'string') return { body: body ?? null };
  const [first] = body;
  if (body.length === 1 && first instanceof Uint8Array && first.length <= partSize) return { body: first };
  const stream = Readable.from(parts(body, deadline), { objectMode: false });
  return oneShot
    ? { body: stream }
    : { body: stream, length: (body as readonly Uint8Array[]).reduce((sum, { length }) => sum + length, 0) };
}

async function* parts(body: Segments, deadline: Deadline): AsyncGenerator<Uint8Array> {
  let isSending = false;
  try {
    for (const segment of body) {
      for await (const part of segment instanceof Uint8Array ? slices(segment) : segment) {
        deadline.extend();
        isSending = true;
        yield part;
        isSending = false;
      }
    }
  } catch (error) {
    // If no part is being sent, the caller's stream failed: abort with its error. Otherwise the connection failed, and
    // undici reports the reason.
    if (!isSending) deadline.abort(error);
    throw error;
  }
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += partSize) yield bytes.subarray(start, start + partSize);
}
