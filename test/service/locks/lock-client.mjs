// A process that takes a lock again and again. While it holds the lock, it owns a file that only one process can create.
import { closeSync, openSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createRequire } from 'node:module';

// An import of a package with types changes the types of all untyped scripts.
const { WebSocket } = createRequire(import.meta.url)('ws');

const [, , url, apiKey, file, times] = process.argv;
for (let round = 0; round < Number(times); round++) {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${apiKey}` } });
  await new Promise((resolve, reject) => {
    socket.on('message', (data) => data.includes('"held"') && resolve());
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The service closed the connection')));
  });
  // Throws if another process has it.
  closeSync(openSync(file, 'wx'));
  if (times === 'Infinity') {
    process.stdout.write('held\n');
    await once(process, 'never');
  }
  rmSync(file);
  socket.close();
  await once(socket, 'close');
}
