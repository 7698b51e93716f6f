import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { serve, type Serving } from './serve.ts';

/** A SOCKS5 proxy on the loopback address, with the hosts and ports that clients asked for. */
export type SocksProxy = Serving & { requests: string[] };

/** Starts a proxy that leads all connections to `site`. It expects each message of the client in one piece. */
export async function startSocksProxy(site: string): Promise<SocksProxy> {
  const requests: string[] = [];
  const port = Number(new URL(site).port);
  const answer = async (client: Socket) => {
    await once(client, 'data');
    client.write(Buffer.from([5, 0]));
    const [request] = (await once(client, 'data')) as [Buffer];
    client.pause();
    const nameEnd = 5 + request[4]!;
    requests.push(`${request.subarray(5, nameEnd).toString()}:${request.readUInt16BE(nameEnd)}`);
    const target = connect(port, '127.0.0.1').on('error', () => undefined);
    client.once('close', () => target.destroy());
    await once(target, 'connect');
    // The address that the proxy has at its own end, as a name.
    client.write(Buffer.from([5, 0, 0, 3, 1, 120, 0, 80]));
    pipeline(client, target, client, () => undefined);
  };
  const serving = await serve(createServer((client) => void answer(client).catch(() => client.destroy())));
  return { ...serving, requests };
}
