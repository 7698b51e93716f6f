import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { WebSocket } from 'ws';

/** The status and the error with which a server refuses a WebSocket. */
export async function refusalOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; code: string; message: string }> {
  const socket = new WebSocket(url, { headers }).on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const error = (await json(response)) as { code: string; message: string };
  socket.terminate();
  return { status: response.statusCode, ...error };
}
