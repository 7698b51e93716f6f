import { Readable } from 'node:stream';
import { Deadline } from './deadline.ts';
import { CallTimeoutError, transportError } from './errors.ts';
import type { Call, Settings, Upload } from './request.ts';
import type { Answer, Reader } from './response.ts';
import { withRetries } from './retry.ts';

/** Makes a call, with retries, and reads its answer. A stream that was to be sent is destroyed in the end, sent or not. */
export async function perform(settings: Settings, call: Call, read: Reader): Promise<unknown> {
  if (!(call.body instanceof Readable)) return await performInTime(settings, call, read);
  // A stream that fails before it is read would end the process without a listener; reading it tells of the failure.
  call.body.on('error', () => {});
  try {
    return await performInTime(settings, call, read);
  } finally {
    call.body.destroy();
  }
}

async function performInTime(settings: Settings, call: Call, read: Reader): Promise<unknown> {
  const deadline = new Deadline(call.timeout, call.signal, (cause) => new CallTimeoutError(call, call.timeout, 'answer', cause));
  try {
    return await withRetries(call, deadline, async () => await read(await send(settings, call, deadline), call, deadline));
  } catch (error) {
    deadline.close();
    // Whatever an abort made fail on its way: the reason is what happened.
    throw deadline.aborted ? deadline.reason : error;
  }
}

/** Bytes handed over at once: each part that the connection takes restarts the deadline. */
const partSize = 1024 * 1024;

async function send({ pool }: Settings, call: Call, deadline: Deadline): Promise<Answer> {
  const { method, path, body, timeout } = call;
  const whole = body === undefined || typeof body === 'string' || (body instanceof Uint8Array && body.length <= partSize);
  const headers = whole || !(body instanceof Uint8Array) ? call.headers : { ...call.headers, 'content-length': String(body.length) };
  deadline.start();
  try {
    return await pool.request({
      method,
      path,
      headers,
      body: whole ? (body ?? null) : Readable.from(parts(body, deadline), { objectMode: false }),
      signal: deadline,
      headersTimeout: 0,
      bodyTimeout: timeout,
    });
  } catch (error) {
    throw transportError(error, call, timeout);
  } finally {
    deadline.pause();
  }
}

async function* parts(body: Exclude<Upload, string>, deadline: Deadline): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of body instanceof Uint8Array ? slices(body) : body) {
      deadline.extend();
      yield part;
    }
  } catch (error) {
    // The caller's own stream failed: that is the reason, not the connection that is given up for it.
    deadline.abort(error);
    throw error;
  }
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += partSize) yield bytes.subarray(start, start + partSize);
}
