import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditLog, Client } from '../client/index.ts';
import { CommandError, exitCodes, wholeNumber } from './command-error.ts';
import { withProgress } from './progress.ts';
import { serviceCommand, type ServiceOptions, withClient } from './service-command.ts';
import { printList } from './table.ts';

type AuditOptions = ServiceOptions & {
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
};

type Query = Parameters<Client['auditLogs']['list']>[0];
type Receipt = { started_at: string; ended_at: string; user_agent: string };

const columns = {
  TIME: 'timestamp',
  METHOD: 'method',
  PATH: 'path',
  STATUS: 'status',
  MS: 'duration_ms',
  USER: 'user_id',
  IP: 'client_ip',
  'USER AGENT': 'user_agent',
};

const parseLimit = wholeNumber(0, 999_999_999, 'It must be a number, or 0 for all.');
const hourMs = 60 * 60 * 1000;
/** How much longer than the run --run searches: the clocks may differ, and workers return browsers after the run. In ms. */
const aroundRunMs = 2 * 60 * 1000;

const help = `
Examples:
  $ playwright-pool audit
  $ playwright-pool audit --since 7d --exclude-method GET --search profiles/ann
  $ playwright-pool audit --since 2026-05-01 --until 2026-05-02 --json
  $ playwright-pool audit --run test-results/browser-leases.json

Times are ages (90s, 15m, 24h, 7d), days or ISO 8601 times, at most 30 days apart.
--run shows the calls that the workers of one test run made to the service. Exit code 3: the run made no calls.`;

/** The command `audit`. */
export function auditCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('audit', 'Show the requests that the service answered, newest first')
    .option('--since <time>', 'only records since this time (default: 24h)', parseTime)
    .option('--until <time>', 'only records before this time (default: now)', parseTime)
    .addOption(
      new Option(
        '--run <file>',
        "only records of a test run; the file is the reporter's browser-leases.json",
      ).conflicts(['since', 'until']),
    )
    .option('--method <method>', 'only this HTTP method')
    .option('--exclude-method <methods...>', 'without these HTTP methods')
    .option('--auth-strategy <name>', 'only this kind of authentication, for example api_key')
    .option('--service <name>', 'only api, or only pages (the views for people)')
    .option('--search <words>', 'part of the path, user id, e-mail, client IP or status')
    .option('--user-id <ids...>', 'records of these users, in addition to those that --search finds')
    .option('--limit <number>', 'largest number of records; 0 is all', parseLimit, 100)
    .addHelpText('after', help)
    .action((options: AuditOptions) => audit(options, env));
}

async function audit(options: AuditOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const receipt = options.run === undefined ? undefined : await receiptIn(options.run);
  const query = queryOf(options, receipt);
  const records: AuditLog[] = [];
  let hasMore = false;
  await withClient(options, env, (client, signal) =>
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
  await printList(records, columns, options, 'No records match.');
  if (hasMore && !options.json)
    console.error(`These are the newest ${options.limit} of more records. Filter them, or raise --limit.`);
}

function queryOf(options: AuditOptions, receipt: Receipt | undefined): Query {
  const { since, until, excludeMethod, userId, method, service, search } = options;
  const now = Date.now();
  const start = receipt
    ? Date.parse(receipt.started_at) - aroundRunMs
    : (since?.getTime() ?? (until?.getTime() ?? now) - 24 * hourMs);
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

async function receiptIn(file: string): Promise<Receipt> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = `${file} cannot be read (${error.code})`;
    throw new CommandError(`${problem}: name the file browser-leases.json that the reporter wrote`, exitCodes.failed, {
      cause: error,
    });
  });
  const run = reportedRun(text);
  if (run === null) throw new CommandError(`the run of ${file} made no calls to a service`, exitCodes.nothingThere);
  if (
    run &&
    [run.started_at, run.ended_at].every((time) => !Number.isNaN(Date.parse(time))) &&
    typeof run.user_agent === 'string'
  )
    return run;
  const advice = 'name the browser-leases.json that playwright-pool/reporter wrote';
  throw new CommandError(`${file} does not describe a test run: ${advice}`);
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
  if (count !== undefined)
    return new Date(Date.now() - Number(count) * { s: 1000, m: 60_000, h: hourMs, d: 24 * hourMs }[unit as 's']);
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : undefined;
  if (time && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('It must be an age such as 15m, 24h or 7d, a day, or an ISO 8601 time.');
}
