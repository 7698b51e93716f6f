import { isIP } from 'node:net';
import { connect } from 'node:tls';

/** OpenSSL's error code for plain HTTP to a port with TLS. */
const httpToTLS = 'ERR_SSL_HTTP_REQUEST';
/** OpenSSL's error codes for TLS to a port with plain HTTP. */
const tlsToHTTP = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);
/** A server with TLS ends a plain connection without an answer. */
const brokenOff = new Set(['UND_ERR_SOCKET', 'ECONNRESET']);
/** In milliseconds. */
const handshakeTimeout = 2000;

export function isOfWrongScheme({ code = '' }: { code: string | undefined }): boolean {
  return code === httpToTLS || tlsToHTTP.has(code);
}

/**
 * Finds the reason for a request without an answer, if the server speaks TLS and the URL begins with `http:`, or the
 * other way round. `code` is the error code of the request.
 */
export async function wrongScheme(
  { protocol, hostname, port }: URL,
  code: string | undefined,
  signal: AbortSignal,
): Promise<{ code: string; problem: string; advice: string } | undefined> {
  if (code === undefined) return undefined;
  const host = hostname.replaceAll(/[[\]]/g, '');
  if (protocol === 'https:' && tlsToHTTP.has(code))
    return {
      code,
      problem: `port ${port || 443} of ${host} doesn't speak TLS`,
      advice: 'Write "http:" instead of "https:" in the base URL',
    };
  if (protocol !== 'http:' || !brokenOff.has(code) || !(await speaksTLS(host, Number(port || 80), signal)))
    return undefined;
  return {
    code: httpToTLS,
    problem: `port ${port || 80} of ${host} speaks TLS`,
    advice: 'Write "https:" instead of "http:" in the base URL',
  };
}

function speaksTLS(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, rejectUnauthorized: false, ...servername });
    const end = (isTLS: boolean) => {
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(isTLS);
    };
    const giveUp = () => end(false);
    signal.addEventListener('abort', giveUp);
    socket.setTimeout(handshakeTimeout, giveUp);
    socket.once('secureConnect', () => end(true));
    // A server that wants a certificate or another version of TLS sends an alert.
    socket.on('error', (error: NodeJS.ErrnoException) => end(/ALERT/.test(error.code ?? '')));
  });
}
