import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataDirectoryInUseError } from './data-directory.ts';
import { systemClock } from '../clock.ts';
import { lineLog } from '../log.ts';
import { addUser } from './join-service.ts';
import { runServiceProcess } from './service-process.ts';
import { parsedUids } from '../children/system-users.ts';
import { Users } from './users.ts';

/**
 * The program of the embedded service: `embedded.js <data directory> <pid of the process that uses it first>`. Standard
 * input is empty or has the pool that this process will ask for, as JSON. It isn't on the command line, because other
 * users of the machine could see it there.
 */

const [dataDirectory, userPid] = process.argv.slice(2);
if (!dataDirectory || !Number(userPid))
  throw new Error('usage: embedded.js <data directory> <pid of the process that uses it first>');
const firstPool = readFileSync(0, 'utf8');
void runOrJoin(dataDirectory, Number(userPid));

/**
 * Starts a service, or joins the one that uses the directory. Tries both in turn, because the other service may be about
 * to end.
 */
async function runOrJoin(dataDirectory: string, userPid: number): Promise<void> {
  // Processes that wait for the service give up after 30 s. Fail earlier, so that they get the reason.
  const deadline = Date.now() + 20_000;
  for (;;) {
    try {
      return await run(dataDirectory, userPid);
    } catch (error) {
      if (!(error instanceof DataDirectoryInUseError)) throw error;
      if (error.record && (await addUser(error.record, userPid))) {
        process.stdout.write(`listening on ${error.record.url}\n`);
        return;
      }
      if (Date.now() > deadline) {
        console.error(`${error.message}. That service does not answer`);
        process.exit(1);
      }
    }
    await sleep(100);
  }
}

async function run(dataDirectory: string, userPid: number): Promise<void> {
  const users = new Users();
  users.add(userPid);
  const executable = process.env['PLAYWRIGHT_POOL_CHROMIUM']?.trim();
  const firefox = process.env['PLAYWRIGHT_POOL_FIREFOX']?.trim();
  const uids = process.env['PLAYWRIGHT_POOL_SESSION_UIDS']?.trim();
  const traces = Boolean(process.env['OTEL_EXPORTER_OTLP_ENDPOINT']?.trim());
  const end = await runServiceProcess(
    {
      dataDirectory,
      chromium: executable ? { executable } : {},
      ...(firefox && { firefox }),
      traces,
      ...(uids && { sessionUids: parsedUids(uids) }),
    },
    { addUser: (pid) => users.add(pid), ...(firstPool !== '' && { firstPool: JSON.parse(firstPool) as unknown }) },
    { log: lineLog((line) => process.stderr.write(line), 'text', systemClock) },
  );
  users.watch(end);
}
