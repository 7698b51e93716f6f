import { once } from 'node:events';
import { createRequire } from 'node:module';

// An import would bring types into the scripts of this repository, which are checked without types.
const { WebSocket } = createRequire(import.meta.url)('ws');

// Connects as often as its last argument says. Each connection but the last one ends well. The last one stays open.
const [, , url, authorization, times] = process.argv;
for (let time = Number(times); time > 0; time -= 1) {
  const socket = new WebSocket(url, { headers: { authorization } });
  await once(socket, 'open');
  console.log('opened');
  if (time === 1) break;
  socket.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
  const [answer] = await once(socket, 'message');
  if (!JSON.parse(answer).result.jsVersion) throw new Error(answer);
  socket.close();
  await once(socket, 'close');
  console.log('closed');
}
