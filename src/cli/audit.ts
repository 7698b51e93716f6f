import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { AuditLog, Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected, connectionOptions, type ConnectionOptions } from './connection.ts';
import { interruptible } from './interruption.ts';
import { withProgress } from './progress.ts';
import { printJSON, printTable } from './table.ts';

type AuditOptions = ConnectionOptions & {
  since?: Date;
  until?: Date;
  run?: string;
  method?: string;
  excludeMethod?: string[];
  authStrategy?: string;
  service?: string;
  search?: string;
  userId?: string[];
  limit: number;
  json?: boolean;
};

type Query = Parameters<Client['auditLogs']['list']>[0];
type Receipt = { started_at: string; ended_at: string; user_agent: string };

const hourMs = 60 * 60 * 1000;
/** The service's clock may differ from that of the run, and the last browsers are given back after its end. */
const aroundRunMs = 2 * 60 * 1000;

const help = `
Examples:
  $ playwright-pool audit
  $ playwright-pool audit --since 7d --exclude-method GET --search profiles/ann
  $ playwright-pool audit --since 2026-05-01 --until 2026-05-02 --json
  $ playwright-pool audit --run test-results/browser-leases.json

Times are ages (90s, 15m, 24h, 7d), days or ISO 8601 times. What lies between them may span 30 days at most.
With --run the records are those of one test run: of the calls that its workers made to the service. Exit code 3: it made none.`;

/** The command that shows which requests a service has answered. */
export function auditCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('audit').description('Show the requests that the service has answered, newest first'))
    .option('--since <time>', 'not older (default: 24h)', parseTime)
    .option('--until <time>', 'older than this (default: now)', parseTime)
    .addOption(new Option('--run <file>', "the records of a test run, by the reporter's browser-leases.json").conflicts(['since', 'until']))
    .option('--method <method>', 'this HTTP method only')
    .option('--exclude-method <methods...>', 'without these HTTP methods')
    .option('--auth-strategy <name>', 'api_key, for instance')
    .option('--service <name>', 'api, or pages for what people look at')
    .option('--search <words>', 'part of the path, user id, e-mail, client IP or status')
    .option('--user-id <ids...>', 'the records of these users, beside those that --search finds')
    .option('--limit <number>', 'how many at most; 0 is all', parseLimit, 100)
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action((options: AuditOptions) => interruptible((signal) => audit(options, env, signal)));
}

async function audit(options: AuditOptions, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const receipt = options.run === undefined ? undefined : await receiptIn(options.run);
  const query = queryOf(options, receipt);
  const records: AuditLog[] = [];
  let hasMore = false;
  await connected(options, env, signal, (client) =>
    withProgress('Reading audit records', async (show) => {
      for await (const record of client.auditLogs.list(query, { signal })) {
        if (receipt && record.user_agent !== receipt.user_agent) continue;
        hasMore = options.limit > 0 && records.length === options.limit;
        if (hasMore) return;
        records.push(record);
        show(`${records.length}`);
      }
    }),
  );
  if (options.json) return printJSON(records);
  if (records.length === 0) return console.log('There are no such records.');
  printTable(['TIME', 'METHOD', 'PATH', 'STATUS', 'MS', 'USER', 'IP', 'USER AGENT'], records.map(rowOf));
  if (hasMore) console.error(`There are more: these are the newest ${options.limit}. Narrow them down, or ask for more with --limit.`);
}

function rowOf({ timestamp, method, path, status, duration_ms, user_id, client_ip, user_agent }: AuditLog): string[] {
  return [timestamp, method, path, String(status), String(duration_ms), user_id, client_ip, user_agent];
}

function queryOf(options: AuditOptions, receipt: Receipt | undefined): Query {
  const { since, until, excludeMethod, userId, method, service, search } = options;
  const now = Date.now();
  const start = receipt ? Date.parse(receipt.started_at) - aroundRunMs : (since?.getTime() ?? (until?.getTime() ?? now) - 24 * hourMs);
  const end = receipt ? Date.parse(receipt.ended_at) + aroundRunMs : (until?.getTime() ?? now);
  return {
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    method,
    service,
    search,
    auth_strategy: options.authStrategy,
    exclude_method: excludeMethod,
    search_user_id: userId,
  };
}

/** When a run was, and how its calls are known. */
async function receiptIn(file: string): Promise<Receipt> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} cannot be read (${error.code}): name the reporter's browser-leases.json`, exitCodes.failed, {
      cause: error,
    });
  });
  const run = reportedRun(text);
  if (run === null) throw new CommandError(`the run of ${file} has made no calls to a service`, exitCodes.nothingThere);
  if (run && [run.started_at, run.ended_at].every((time) => !Number.isNaN(Date.parse(time))) && typeof run.user_agent === 'string')
    return run;
  throw new CommandError(
    `${file} does not tell of a run: name the browser-leases.json that the reporter playwright-pool/reporter has written`,
  );
}

function reportedRun(text: string): Receipt | null | undefined {
  try {
    return (JSON.parse(text) as { run?: Receipt | null } | null)?.run;
  } catch {
    return undefined;
  }
}

function parseTime(text: string): Date {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(Date.now() - Number(count) * { s: 1000, m: 60_000, h: hourMs, d: 24 * hourMs }[unit as 's']);
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : undefined;
  if (time && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('It must be an age such as 15m, 24h or 7d, a day, or an ISO 8601 time.');
}

function parseLimit(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a number, or 0 for all.');
  return Number(text);
}
