import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A proxy that delays the bytes of both directions, in order. */
export async function startDelayingProxy(target: string, ms: number): Promise<{ url: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const pass = async (from: Socket, to: Socket) => {
    let turn = Promise.resolve();
    from.on('error', () => to.destroy()).on('end', () => void turn.then(() => to.end()));
    from.on('data', (chunk: Buffer) => {
      const due = sleep(ms);
      turn = turn.then(() => due).then(() => void to.write(chunk));
    });
  };
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(new URL(target).port), host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [client, upstream]) sockets.add(socket.setNoDelay());
    void pass(client, upstream);
    void pass(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}
