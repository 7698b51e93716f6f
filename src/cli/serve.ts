import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { LogFormat } from '../service/process/log.ts';
import { withEnvironment } from './environment-settings.ts';
import { wholeNumber } from './command-error.ts';

type ServeOptions = {
  port: number;
  host: string;
  publicUrl?: string;
  trustProxy?: string;
  tlsCert?: string;
  tlsKey?: string;
  dataDir?: string;
  chromium?: string;
  firefox?: string;
  sandbox: boolean;
  sessionUids?: string;
  allowSharedUser?: true;
  blockLoopback?: true;
  playwrightCore?: string[];
  replayFormat?: 'h264' | 'vp9' | 'vp8';
  auditRetentionDays?: number;
  auditMaxSize?: number;
  maxSessions?: number;
  downloadQuota?: number;
  machines?: string;
  machinesKey?: string;
  directSessions?: true;
  overflow?: string;
  overflowKey?: string;
  overflowSessions?: number;
  metricsToken?: string;
  clockStart?: number;
  drainTimeout: number;
  logFormat: LogFormat;
};

const parsePort = wholeNumber(0, 65_535, 'It must be a number from 0 to 65535.');
const parseSeconds = wholeNumber(0, 86_400, 'It must be a number of seconds from 0 to 86400.');
const parseDays = wholeNumber(0, 99_999, 'It must be a number of days from 0 to 99999.');
const parseCount = wholeNumber(1, 999_999, 'It must be a number from 1 to 999999.');

const examples = `
Examples:
  $ playwright-pool serve
  $ playwright-pool serve --port 8080 --data-dir /var/lib/playwright-pool
  $ PLAYWRIGHT_POOL_API_KEY=secret playwright-pool serve --port 8080
  $ playwright-pool serve --host 0.0.0.0 --port 8080 --public-url http://machine.example:8080

Each option is also an environment variable, such as PLAYWRIGHT_POOL_MAX_SESSIONS=8 and PLAYWRIGHT_POOL_BLOCK_LOOPBACK=1. The command
line wins.

The first line on stdout is "listening on http://<host>:<port>". The API key is PLAYWRIGHT_POOL_API_KEY, otherwise the content of
the file "api-key" in the data directory. The service creates that file if it is missing. Test projects on this machine with the same
data directory use the service without configuration. SIGINT ends the service and all its browsers. SIGTERM first refuses new sessions
and waits until the others have ended.`;

/** The command `serve`. */
export function serveCommand(env: NodeJS.ProcessEnv): Command {
  const command = new Command('serve')
    .description('Run the browser automation service on this machine')
    .optionsGroup('Network:')
    .option('--port <number>', 'port to listen on; 0 chooses a free port', parsePort, 0)
    .option('--host <address>', 'address to listen on; 0.0.0.0 stands for all', '127.0.0.1')
    .option(
      '--public-url <url>',
      'URL by which other machines reach the service, such as https://pool.example (default: the host that they use)',
    )
    .option('--trust-proxy <addresses>', 'proxies whose X-Forwarded headers count, such as 10.0.0.1,192.168.0.0/16')
    .option('--tls-cert <file>', 'PEM file of a certificate and its chain, for https; read again when it changes')
    .option('--tls-key <file>', 'PEM file of its private key')
    .option(
      '--allow-shared-user',
      "listen beyond this machine although sessions run as the service's user and can read its files",
    )
    .optionsGroup('Browsers:')
    .option('--chromium <file>', 'the Chromium to run')
    .option('--firefox <file>', "a Firefox for versions of Playwright whose own build isn't installed")
    .option('--no-sandbox', "run Chromium without its sandbox, where the system doesn't allow one")
    .option(
      '--session-uids <first-last>',
      'run each session under a user id of its own; "off" runs all as the service\'s user (default: 20000-29999 if root runs the service on Linux)',
    )
    .option('--block-loopback', 'keep pages from programs on this machine; use it if others share the service')
    .option(
      '--playwright-core <directory>',
      "directory of one more version of playwright-core for clients of Playwright's protocol; repeatable",
      (directory: string, others: string[] | undefined) => [...(others ?? []), directory],
    )
    .addOption(
      new Option(
        '--replay-format <format>',
        'h264 in MP4, vp9 or vp8 in WebM (default: the first that Chromium can encode)',
      ).choices(['h264', 'vp9', 'vp8']),
    )
    .optionsGroup('Limits:')
    .option('--max-sessions <number>', 'largest number of running browsers, pools included (default: 1000)', parseCount)
    .option(
      '--download-quota <MiB>',
      'how much the pages of one session may download; further downloads are canceled (default: 4096)',
      parseCount,
    )
    .optionsGroup('Data and records:')
    .option(
      '--data-dir <directory>',
      "directory for profiles, pools and the API key (default: the project's directory in the user's cache)",
    )
    .option(
      '--audit-retention-days <days>',
      'days until audit records are deleted; 0 records nothing (default: 90)',
      parseDays,
    )
    .option(
      '--audit-max-size <MiB>',
      'largest size of all audit records; the oldest are deleted (default: 1024)',
      parseCount,
    )
    .optionsGroup('Many machines:')
    .option(
      '--machines <urls>',
      'run all sessions on other services: their URLs, or dns://NAME:PORT for every address behind a name',
    )
    .option('--machines-key <key>', "API key of the machines (default: this service's own)")
    .option(
      '--direct-sessions',
      "hand out the machines' own URLs of sessions; a restart of this service then interrupts no test",
    )
    .option('--overflow <url>', 'a service, also the hosted one, for sessions that have no free slot on a machine')
    .option('--overflow-key <key>', 'API key of that service')
    .option(
      '--overflow-sessions <count>',
      'most sessions there at once (default: the limit of that service)',
      parseCount,
    )
    .optionsGroup('Operation:')
    .option(
      '--drain-timeout <seconds>',
      'how long SIGTERM waits for the end of sessions; 0 ends them at once',
      parseSeconds,
      600,
    )
    .addOption(
      new Option('--log-format <format>', 'form of the lines on stderr: text, or json for log collectors')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(
      new Option(
        '--metrics-token <token>',
        'bearer token with which Prometheus reads /metrics; an API key of the organization works too',
      ).env('PLAYWRIGHT_POOL_METRICS_TOKEN'),
    )
    .option('--clock-start <time>', 'start the clock of the service at this time (ISO 8601) instead of now', parseTime)
    .addHelpText('after', examples)
    .action((options: ServeOptions) => serve(options, env));
  return withEnvironment(command, env);
}

async function serve(options: ServeOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { port, host, publicUrl, trustProxy, drainTimeout, logFormat } = options;
  const { tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new Error('--tls-cert and --tls-key belong together: pass both');
  const { dataDir, chromium, firefox, sandbox, sessionUids, allowSharedUser, blockLoopback, playwrightCore } = options;
  const { replayFormat, auditRetentionDays, auditMaxSize, maxSessions, downloadQuota, clockStart } = options;
  const { machines, machinesKey, directSessions, metricsToken } = options;
  const overflow = overflowOf(options);
  const { dataDirectoryFor } = await import('../service/process/start/data-directory.ts');
  const { clockFrom, systemClock } = await import('../service/process/clock.ts');
  const { runServiceProcess } = await import('../service/process/start/service-process.ts');
  const { lineLog, logConsole } = await import('../service/process/log.ts');
  const { isLoopback } = await import('../service/process/network/loopback.ts');
  const { parsedUids } = await import('../service/process/children/system-users.ts');
  const apiKey = env['PLAYWRIGHT_POOL_API_KEY']?.trim();
  const log = lineLog((line) => process.stderr.write(line), logFormat, systemClock);
  if (logFormat === 'json') logConsole(log);
  if (machines) collectGarbageOften();
  try {
    const serviceOptions = {
      port,
      host,
      ...(tlsCert && tlsKey && { tls: { cert: resolve(tlsCert), key: resolve(tlsKey) } }),
      ...(publicUrl && { publicUrl }),
      ...(trustProxy && { trustedProxies: trustProxy.split(',').map((address) => address.trim()) }),
      dataDirectory: dataDir === undefined ? dataDirectoryFor(process.cwd(), env) : resolve(dataDir),
      ...(apiKey && { apiKey }),
      chromium: { ...(chromium && { executable: chromium }), ...(!sandbox && { sandbox }) },
      ...(firefox && { firefox }),
      ...(sessionUids && { sessionUids: parsedUids(sessionUids) }),
      ...(allowSharedUser && { allowSharedUser }),
      ...(blockLoopback && { blockLoopback }),
      ...(playwrightCore && { playwrightCores: playwrightCore }),
      ...(replayFormat && { replayFormat }),
      ...(auditRetentionDays !== undefined && { auditRetentionDays }),
      ...(auditMaxSize !== undefined && { auditMaxMiB: auditMaxSize }),
      ...(downloadQuota !== undefined && { downloadQuota: downloadQuota * 1024 ** 2 }),
      ...(maxSessions !== undefined && { maxConcurrentSessions: maxSessions }),
      ...(machines && {
        machines: {
          from: machines.split(',').map((from) => from.trim()),
          ...(machinesKey && { apiKey: machinesKey.trim() }),
          ...(directSessions && { directSessions }),
          ...(overflow && { overflow }),
        },
      }),
      ...(env['OTEL_EXPORTER_OTLP_ENDPOINT']?.trim() && { traces: true }),
      ...(metricsToken?.trim() && { metricsToken: metricsToken.trim() }),
      ...(clockStart !== undefined && { clock: clockFrom(clockStart) }),
    };
    if (!isLoopback(host) && !tlsCert && !publicUrl?.startsWith('https:')) log('warning', { message: warning(host) });
    await runServiceProcess(serviceOptions, { addUser: () => true }, { log, drainTimeoutMs: drainTimeout * 1000 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new Error(`port ${port} is in use: choose another one with --port, or leave out --port to use a free port`, {
      cause: error,
    });
  }
}

function overflowOf({ machines, overflow: url, overflowKey, overflowSessions }: ServeOptions) {
  if (url === undefined && (overflowKey ?? overflowSessions) !== undefined)
    throw new Error('--overflow-key and --overflow-sessions belong to --overflow: pass its URL too');
  if (url === undefined) return undefined;
  if (machines === undefined) throw new Error('--overflow is for sessions that have no free slot: pass --machines too');
  if (overflowKey === undefined) throw new Error('--overflow needs the API key of that service: pass --overflow-key');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(
      `--overflow: ${JSON.stringify(url)} is not the URL of a service. Write for example https://browsers.example.com`,
    );
  return { url, apiKey: overflowKey.trim(), ...(overflowSessions && { maxSessions: overflowSessions }) };
}

/**
 * A control plane keeps little of much that it reads. By default V8 lets its memory grow to twice the live objects or
 * more. With these flags the peak of 5,000 waiting acquires is about 230 MB instead of 290 (`npm run bench -- machines`).
 */
function collectGarbageOften(): void {
  setFlagsFromString('--heap-growing-percent=20');
  setFlagsFromString('--semi-space-growth-factor=1');
}

function warning(host: string): string {
  return `the service listens on ${host} without TLS. Others on the network can read its API key and all pages. Pass --tls-cert and --tls-key, or put a proxy with TLS before it and name its URL by --public-url.`;
}

function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError('It must be a date or time such as 2026-11-24 or 2026-11-24T12:00:00Z.');
  return time;
}
