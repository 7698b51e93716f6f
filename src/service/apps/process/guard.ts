import { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { killMarked } from '../../process/children/marked-processes.ts';

/**
 * A thread of the runner. When the service ends in any way, it kills the runner and all processes that the runner
 * started. It is a thread because the application may block the main thread forever.
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
