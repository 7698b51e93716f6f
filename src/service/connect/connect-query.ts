import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { OperationError } from '../../contract/errors.ts';
import { clientTag, runTag, testTagOf, workerTag } from '../../contract/lease-tags.ts';
import {
  engine,
  launchOptions,
  name,
  queryBoolean,
  queryInteger,
  tags,
  tagValue,
  type LaunchOptions,
} from '../../contract/values.ts';
import { readQuery } from '../http/requests/request.ts';
import { nearestName } from '../process/nearest-name.ts';

const longestWaitSeconds = 3600;
/** The header in which Playwright Test sends the `launchOptions` of a project, as JSON. */
const launchHeader = 'x-playwright-launch-options';

const connectQuery = z.strictObject({
  token: z.string().optional(),
  project: z.string().optional(),
  pool: z.string().optional(),
  name: name.optional(),
  run: tagValue.optional(),
  worker: tagValue.optional(),
  tags: tags.optional(),
  profile: z.string().optional(),
  save_changes: queryBoolean().default(false),
  release: z.enum(['recycle', 'reuse']).default('recycle'),
  replay: z.enum(['on', 'off']).default('off'),
  engine: engine.optional(),
  acquire_timeout_seconds: queryInteger().min(0).max(longestWaitSeconds).default(300),
});

/** The parameters of a URL that leases a browser. */
export type ConnectQuery = z.output<typeof connectQuery>;

/** The names of the parameters. */
export const connectParameters: ReadonlySet<string> = new Set(Object.keys(connectQuery.shape));

/** Throws `bad_request` for a wrong value, and for an unknown name: a misspelled one must not be ignored. */
export function readConnectQuery(search: URLSearchParams): ConnectQuery {
  refuseUnknown(search, connectParameters);
  return readQuery({ query: connectQuery }, search) as ConnectQuery;
}

/** The launch options of a client. Throws `bad_request`. */
export function readLaunchOptions({ headers }: IncomingMessage): LaunchOptions | undefined {
  const text = [headers[launchHeader] ?? []].flat()[0];
  if (text === undefined) return undefined;
  const { data, error } = launchOptions.safeParse(parsed(text));
  if (data) return data;
  const [issue] = error.issues;
  throw new OperationError('bad_request', `${['launchOptions', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
}

/** Throws `bad_request` for a parameter that isn't one of `names`. */
export function refuseUnknown(search: URLSearchParams, names: ReadonlySet<string>): void {
  for (const parameter of search.keys()) {
    const known = parameter.replace(/^tags\[.*\]$/s, 'tags');
    if (names.has(known)) continue;
    const asked = parameter.slice(0, 64);
    throw new OperationError(
      'bad_request',
      `there is no parameter ${JSON.stringify(asked)}; the nearest one is ${nearestName(asked, names)}`,
    );
  }
}

/** The tags of a lease: the client's name and version, such as `Playwright/1.65.1 node/20.20`, and those of the query. */
export function tagsOf({ run, worker, tags }: ConnectQuery, userAgent = ''): Record<string, string> {
  const client = testTagOf(
    userAgent
      .replaceAll(/\([^()]*\)/g, '')
      .trim()
      .replaceAll(/\s+/g, ' '),
  );
  return {
    ...(client && { [clientTag]: client }),
    ...(run !== undefined && { [runTag]: run }),
    ...(worker !== undefined && { [workerTag]: worker }),
    ...tags,
  };
}

/** The language and the minor version of a client of Playwright, from its header `User-Agent`. */
export function clientKind(userAgent = ''): { language: string; version: string } {
  const [, version, language] =
    /^Playwright\/(\d{1,2}\.\d{1,2})\b.*\b(node|python|java|csharp)\//.exec(userAgent) ?? [];
  return version && language ? { language, version } : { language: 'other', version: 'other' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OperationError('bad_request', `the header ${launchHeader} is not JSON`);
  }
}
