import { errors as undiciErrors } from './http-library.ts';
import { CallTimeoutError, ConnectionError } from './errors.ts';
import { isOfClosedClient, neverConnected } from './failure-policy.ts';
import type { Deadline } from './deadline.ts';
import type { Call } from './request.ts';
import { wrongScheme } from './wrong-scheme.ts';

/** The error of a call without an answer. */
export async function sendError(error: unknown, call: Call, deadline: Deadline): Promise<Error> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  deadline.once('abort', abort);
  const { code } = describe(error);
  const wrong = isUnanswered(error) ? await wrongScheme(new URL(call.url), code, controller.signal) : undefined;
  deadline.off('abort', abort);
  if (!wrong || deadline.aborted) return transportError(error, call);
  return new ConnectionError(call, wrong.code, `${wrong.problem} (${call.method} ${call.url}). ${wrong.advice}`);
}

/** Turns an error of undici, the HTTP library, into an error of the client with advice. */
export function transportError(error: unknown, call: Call): Error {
  if (error instanceof undiciErrors.BodyTimeoutError) {
    if (!call.isKeptAlive) return new CallTimeoutError(call, call.timeout, 'more of the answer');
    const silence = `the event stream was silent for ${call.pauseLimit / 1000} s`;
    return new ConnectionError(call, error.code, `${silence} (${call.method} ${call.url}). ${adviceFor(error.code)}`);
  }
  if (error instanceof undiciErrors.InvalidArgumentError)
    return new TypeError(`${error.message} (${call.method} ${call.url})`);
  // Don't keep the error as cause: a parse error contains bytes of the answer, which may repeat the API key.
  const { code, message } = describe(error);
  return new ConnectionError(call, code, `${message} (${call.method} ${call.url}). ${adviceFor(code)}`);
}

/** Whether the connection may have been open without a single byte of an answer. */
function isUnanswered(error: unknown): boolean {
  return !(error instanceof undiciErrors.SocketError) || !error.socket?.bytesRead;
}

/** Code and message of an error. Node's AggregateError has no message of its own, so join those of its errors. */
function describe(error: unknown): { code: string | undefined; message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const parts = error instanceof AggregateError ? error.errors.map((part) => describe(part).message) : [];
  return { code, message: error.message.trim() || parts.join(', ') || code || error.name };
}

function adviceFor(code: string | undefined): string {
  if (code === 'ENOTFOUND') return 'Check the host name of the base URL';
  if (isOfClosedClient({ code })) return 'The client was closed';
  if (code !== undefined && /CERT|LEAF_SIGNATURE/.test(code)) {
    return 'Check the certificate of the service. To trust a private authority, set NODE_EXTRA_CA_CERTS to the file of its certificate';
  }
  if (neverConnected.has(code)) return 'Check that the service is running and that the base URL is right';
  return 'Check that the service is still running and that the base URL is right. The call may have taken effect';
}
