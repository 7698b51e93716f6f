import { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { killMarked } from './marked-processes.ts';

/**
 * A thread of the runner: kills its process with all that it started when the service is gone, however it went. The application may keep the
 * main thread busy for ever.
 */
const { mark, connection } = workerData as { mark: string; connection: number };

const service = new Socket({ fd: connection, readable: true, writable: false });
service.on('error', () => {});
service.once('close', () => {
  killMarked(mark);
  if (process.platform !== 'win32') process.kill(-process.pid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
});
service.resume();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
parentPort?.postMessage('watching');
