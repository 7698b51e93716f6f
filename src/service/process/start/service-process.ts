import { removeServiceRecord, writeServiceRecord } from './data-directory.ts';
import type { Log } from '../log.ts';
import { startService, type ServiceOptions, type SharedOptions } from '../../service.ts';

/**
 * Runs a service in this process. Writes its URL to stdout and to the data directory, so that other processes can join
 * it. Ends the service and the process on SIGTERM, SIGINT and SIGHUP. With `drainTimeoutMs`, SIGTERM first waits until
 * all sessions have ended. A second signal ends them at once. Returns a function that ends service and process.
 */
export async function runServiceProcess(
  options: ServiceOptions & { dataDirectory: string },
  shared: SharedOptions,
  { log, drainTimeoutMs = 0 }: { log: Log; drainTimeoutMs?: number },
): Promise<() => void> {
  const service = await startService({ ...options, log }, shared);
  try {
    await writeServiceRecord(options.dataDirectory, { pid: process.pid, url: service.url, apiKey: service.apiKey });
  } catch (error) {
    await service.close();
    throw error;
  }

  let ending = false;
  const end = () => {
    if (ending) return;
    ending = true;
    log('service_ending');
    void removeServiceRecord(options.dataDirectory)
      .then(() => service.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          console.error('the service did not end cleanly:', error);
          process.exit(1);
        },
      );
  };
  let draining = false;
  const drain = () => {
    draining = true;
    log('service_draining', {
      timeout_seconds: drainTimeoutMs / 1000,
      message: 'waiting for the end of all sessions; a second signal ends them at once',
    });
    setTimeout(end, drainTimeoutMs);
    void service.drain().then(end);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // The service is already ending, and gets one more signal: don't wait for the browsers.
      if (ending) process.exit(130);
      if (signal === 'SIGTERM' && drainTimeoutMs > 0 && !draining) drain();
      else end();
    });
  }

  // The parent process may stop reading after the first line.
  process.stdout.on('error', () => {});
  process.stdout.write(`listening on ${service.url}\n`);
  log('service_started', { url: service.url, pid: process.pid });
  return end;
}
