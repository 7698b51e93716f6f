import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';

type ServeOptions = {
  port: number;
  dataDir?: string;
  chromium?: string;
  sandbox: boolean;
  replayFormat?: 'h264' | 'vp9' | 'vp8';
  auditRetentionDays?: number;
  maxSessions?: number;
  clockStart?: number;
};

const examples = `
Examples:
  $ playwright-pool serve
  $ playwright-pool serve --port 8080 --data-dir /var/lib/playwright-pool
  $ PLAYWRIGHT_POOL_API_KEY=secret playwright-pool serve --port 8080

The first line on stdout is "listening on http://127.0.0.1:<port>". The API key is PLAYWRIGHT_POOL_API_KEY, else the one in
the file "api-key" of the data directory, which is made when it is missing. Test projects on this machine that share the data
directory use the service by themselves. SIGTERM and SIGINT end it with all its browsers.`;

export function serveCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('serve')
    .description('Run the browser automation service on this machine')
    .option('--port <number>', 'port on 127.0.0.1; 0 is any free one', parsePort, 0)
    .option(
      '--data-dir <directory>',
      "where profiles, pools and the API key are kept (default: the project's directory in the user's cache)",
    )
    .addOption(new Option('--chromium <file>', 'the Chromium to run').env('PLAYWRIGHT_POOL_CHROMIUM'))
    .option('--no-sandbox', "run Chromium without its sandbox, where the system doesn't allow one")
    .addOption(
      new Option('--replay-format <format>', 'h264 in MP4, vp9 or vp8 in WebM (default: the first that Chromium can encode)').choices([
        'h264',
        'vp9',
        'vp8',
      ]),
    )
    .option('--audit-retention-days <days>', 'how long audit records are kept; 0 records nothing (default: 90)', parseDays)
    .option('--max-sessions <number>', 'how many browsers run at once at most, those of pools included (default: 1000)', parseCount)
    .option('--clock-start <time>', 'let the clock of the service start at this time (ISO 8601) instead of now', parseTime)
    .addHelpText('after', examples)
    .action((options: ServeOptions) => serve(options, env));
}

async function serve(
  { port, dataDir, chromium, sandbox, replayFormat, auditRetentionDays, maxSessions, clockStart }: ServeOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { dataDirectoryFor } = await import('../service/data-directory.ts');
  const { clockFrom } = await import('../service/clock.ts');
  const { runServiceProcess } = await import('../service/service-process.ts');
  const apiKey = env['PLAYWRIGHT_POOL_API_KEY']?.trim();
  try {
    const options = {
      port,
      dataDirectory: dataDir === undefined ? dataDirectoryFor(process.cwd(), env) : resolve(dataDir),
      ...(apiKey && { apiKey }),
      chromium: { ...(chromium && { executable: chromium }), ...(!sandbox && { sandbox }) },
      ...(replayFormat && { replayFormat }),
      ...(auditRetentionDays !== undefined && { auditRetentionDays }),
      ...(maxSessions !== undefined && { maxConcurrentSessions: maxSessions }),
      ...(clockStart !== undefined && { clock: clockFrom(clockStart) }),
    };
    await runServiceProcess(options, { addUser: () => true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new Error(`port ${port} is in use: choose another with --port, or leave it out for any free one`, { cause: error });
  }
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return Number(text);
}

function parseDays(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('It must be a number of days from 0 to 99999.');
  return Number(text);
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time)) throw new InvalidArgumentError('It must be a date or time such as 2026-11-24 or 2026-11-24T12:00:00Z.');
  return time;
}
