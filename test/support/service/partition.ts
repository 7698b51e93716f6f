import { connect, createServer, type Socket } from 'node:net';
import { serve } from '../http/serve.ts';

/** A way to a service that can be cut without either side noticing, as by a broken network. */
export type Way = {
  url: string;
  /** From now on, no byte passes, also of new connections. */
  cut: () => void;
  /** Lets the waiting bytes pass. */
  mend: () => void;
  close: () => void;
};

export async function wayTo(url: string): Promise<Way> {
  const { hostname, port } = new URL(url);
  const ends = new Set<Socket>();
  let isCut = false;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      ends.add(from);
      from.on('error', () => to.destroy()).once('close', () => ends.delete(from));
      from.on('data', (data) => {
        if (!to.write(data)) from.pause();
      });
      to.on('drain', () => !isCut && from.resume());
      from.on('end', () => to.end());
      from.once('close', () => to.destroySoon());
      if (isCut) from.pause();
    }
  });
  const serving = await serve(server);
  const each = (act: (socket: Socket) => void) => {
    for (const socket of ends) act(socket);
  };
  return {
    url: serving.url,
    cut: () => {
      isCut = true;
      each((socket) => socket.pause());
    },
    mend: () => {
      isCut = false;
      each((socket) => socket.resume());
    },
    close: () => {
      void serving[Symbol.asyncDispose]();
      each((socket) => socket.destroy());
    },
  };
}
