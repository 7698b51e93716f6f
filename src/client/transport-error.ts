import { errors as undiciErrors } from 'undici';
import { type CallName, CallTimeoutError, ConnectionError } from './errors.ts';

/** Turns what undici rejects with into this family. */
export function transportError(error: unknown, call: CallName & { readonly timeout: number }): Error {
  if (error instanceof undiciErrors.BodyTimeoutError) return new CallTimeoutError(call, call.timeout, 'more of the answer');
  if (error instanceof undiciErrors.InvalidArgumentError) return new TypeError(`${error.message} (${call.method} ${call.url})`);
  // A parse error carries the bytes that it could not read, in which a broken peer may echo the API key.
  const cause = error instanceof undiciErrors.HTTPParserError ? undefined : error;
  const { code, message } = describe(error);
  return new ConnectionError(call, code, `${message} (${call.method} ${call.url}). ${adviceFor(code)}`, cause);
}

/** The happy-eyeballs error of node:net has a code and the single errors, but no message. */
function describe(error: unknown): { code: string | undefined; message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const parts = error instanceof AggregateError ? error.errors.map((part) => describe(part).message) : [];
  return { code, message: error.message.trim() || parts.join(', ') || code || error.name };
}

function adviceFor(code: string | undefined): string {
  if (code === 'ENOTFOUND') return 'Check the host name of the base URL';
  if (isOfClosedClient({ code })) return 'The client was closed';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'What answers there speaks no TLS: the base URL may have to begin with "http:"';
  if (code !== undefined && /CERT|LEAF_SIGNATURE/.test(code)) {
    return 'Check the certificate of the service; a file with that of the authority that signed it can be named by NODE_EXTRA_CA_CERTS';
  }
  if (code !== undefined && neverConnected.has(code)) return 'Check that the service is running and that the base URL is right';
  return 'Check that the service is still running and that the base URL is right; whether the call took effect is not known';
}

/** Whether a call failed because its client was closed. */
export function isOfClosedClient({ code }: { code: string | undefined }): boolean {
  return code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED';
}

/** Codes of connections that never came about, so that nothing was sent. */
export const neverConnected: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
