import { OperationError } from '../../contract/errors.ts';
import { BlockedError, outside } from '../chromium/network/outside.ts';

/** Chromium's numbers for the most common network errors (net/base/net_error_list.h). */
const numbers: Readonly<Record<string, number>> = {
  ERR_FAILED: -2,
  ERR_ABORTED: -3,
  ERR_INVALID_ARGUMENT: -4,
  ERR_TIMED_OUT: -7,
  ERR_ACCESS_DENIED: -10,
  ERR_BLOCKED_BY_CLIENT: -20,
  ERR_NETWORK_CHANGED: -21,
  ERR_BLOCKED_BY_ADMINISTRATOR: -22,
  ERR_CONNECTION_CLOSED: -100,
  ERR_CONNECTION_RESET: -101,
  ERR_CONNECTION_REFUSED: -102,
  ERR_CONNECTION_ABORTED: -103,
  ERR_CONNECTION_FAILED: -104,
  ERR_NAME_NOT_RESOLVED: -105,
  ERR_INTERNET_DISCONNECTED: -106,
  ERR_SSL_PROTOCOL_ERROR: -107,
  ERR_ADDRESS_INVALID: -108,
  ERR_ADDRESS_UNREACHABLE: -109,
  ERR_TUNNEL_CONNECTION_FAILED: -111,
  ERR_SSL_VERSION_OR_CIPHER_MISMATCH: -113,
  ERR_CONNECTION_TIMED_OUT: -118,
  ERR_PROXY_CONNECTION_FAILED: -130,
  ERR_CERT_COMMON_NAME_INVALID: -200,
  ERR_CERT_DATE_INVALID: -201,
  ERR_CERT_AUTHORITY_INVALID: -202,
  ERR_CERT_REVOKED: -206,
  ERR_CERT_INVALID: -207,
  ERR_INVALID_URL: -300,
  ERR_DISALLOWED_URL_SCHEME: -301,
  ERR_UNKNOWN_URL_SCHEME: -302,
  ERR_TOO_MANY_REDIRECTS: -310,
  ERR_UNSAFE_REDIRECT: -311,
  ERR_UNSAFE_PORT: -312,
  ERR_INVALID_RESPONSE: -320,
  ERR_INVALID_CHUNKED_ENCODING: -321,
  ERR_EMPTY_RESPONSE: -324,
  ERR_RESPONSE_HEADERS_TOO_BIG: -325,
  ERR_CONTENT_DECODING_FAILED: -330,
  ERR_HTTP2_PROTOCOL_ERROR: -337,
  ERR_CONTENT_LENGTH_MISMATCH: -354,
  ERR_INCOMPLETE_CHUNKED_ENCODING: -355,
  ERR_QUIC_PROTOCOL_ERROR: -356,
};

/** Creates the error for a request that got no answer. `name` is Chromium's name for it, with or without `net::`. */
export function netError(name: string, message?: string): OperationError {
  const bare = name.replace(/^net::/, '');
  const number = numbers[bare];
  return new OperationError('request_failed', message ?? `the browser got no answer: ${bare}`, {
    netError: { ...(number !== undefined && { net_error: number }), net_error_name: bare },
  });
}

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Throws `request_failed` for a URL that leads to the service itself. Otherwise a caller with a token could get around
 * the rules of a load balancer before the service, by sending requests through a browser beside it. A name may get another
 * address before the browser looks it up. The service refuses such a request too, because it doesn't know the name in the
 * Host header.
 */
export async function refuseOwnPort(text: string, ownPort: number): Promise<void> {
  const { hostname, port, protocol } = new URL(text);
  if (Number(port || defaultPorts[protocol]) !== ownPort) return;
  await outside(hostname).catch((error: unknown) => {
    // A name without an address leads nowhere.
    if (error instanceof BlockedError)
      throw netError(
        'ERR_BLOCKED_BY_CLIENT',
        `${hostname}:${ownPort} is the service itself: send the request to the service directly`,
      );
  });
}
