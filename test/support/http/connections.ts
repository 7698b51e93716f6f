import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type TcpNetConnectOpts } from 'node:net';

/** Requests a URL from an HTTP proxy at 127.0.0.1. Returns its whole answer; empty if it closes the connection. */
export async function answerOf(from: Omit<TcpNetConnectOpts, 'host'>, url: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', ...from });
  socket.on('error', () => {});
  socket.write(`GET ${url} HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n\r\n`);
  let received = '';
  socket.on('data', (data) => (received += String(data)));
  // A reset ends the connection too.
  await once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
  return received;
}

/**
 * Requests a URL from an HTTP proxy at 127.0.0.1, with the ports from which its clients are connected now, but at 16 other
 * addresses of this machine. Linux lists connections in an arbitrary order, so a check by ports alone lets some of them
 * through.
 */
export async function answersTo(url: string, proxyPort: number): Promise<string[]> {
  const ports = portsConnectedTo(proxyPort);
  if (ports.length === 0) throw new Error(`no process is connected to the port ${proxyPort}`);
  const answers: string[] = [];
  // One after another, so that each competes with the browser's connection alone.
  for (const localPort of ports)
    for (let last = 3; last < 19; last++)
      answers.push(await answerOf({ port: proxyPort, localPort, localAddress: `127.0.0.${last}` }, url));
  return answers;
}

/** The ports at 127.0.0.1 from which processes have connections to this port at 127.0.0.1. Linux only. */
function portsConnectedTo(port: number): number[] {
  const loopback = Buffer.from([1, 0, 0, 127]).toString('hex').toUpperCase();
  const wanted = `${loopback}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n');
  return rows.flatMap((row) => {
    const [, local = '', remote, state] = row.trim().split(/\s+/);
    const isOpen = remote === wanted && state === '01' && local.startsWith(loopback);
    return isOpen ? [Number.parseInt(local.split(':')[1]!, 16)] : [];
  });
}
