import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from '@playwright/test';
import { createClient } from '../../src/client/index.ts';
import { contract } from '../../src/contract/contract.ts';
import { type Operation, operationsOf, pathParameterNames } from '../../src/contract/operation.ts';
import { apiKey, breakOff, eventStream, type ScriptedAnswer, test } from '../client/recording-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The client repeats only idempotent calls after this answer. */
const failure: ScriptedAnswer = { status: 500, json: { code: 'internal_error', message: 'once' } };

test('the client in dist calls every operation as the client in src does', async ({ serve }) => {
  const built = (await import('playwright-pool/client')) as { createClient: typeof createClient };
  const call = async (create: typeof createClient, name: string, operation: Operation, answers: ScriptedAnswer[]) => {
    const server = await serve(...answers);
    await using client = create({ baseURL: server.url, apiKey, maxRetries: 1 });
    const node = name.split('.').reduce<unknown>((tree, key) => (tree as Record<string, unknown>)[key], client);
    const outcome = await outcomeOf(() => (node as (...args: unknown[]) => unknown)(...argumentsOf(operation)));
    const calls = server.calls.map(({ method, url, headers }) => [
      method,
      url,
      headers.accept,
      headers['content-type']?.split(';')[0],
    ]);
    return [name, { outcome, calls }] as const;
  };
  const operations = [...operationsOf(contract)].filter(([, operation]) => !('deprecated' in operation));
  for (const before of [[], [failure]]) {
    const callAll = async (create: typeof createClient) =>
      Object.fromEntries(
        await Promise.all(
          operations.map(([name, operation]) => call(create, name, operation, [...before, ...answersOf(operation)])),
        ),
      );
    expect(await callAll(built.createClient)).toEqual(await callAll(createClient));
  }
});

test('the client in dist loads no library for schemas, because each worker loads it', () => {
  expect(librariesOf(fileURLToPath(import.meta.resolve('playwright-pool/client')))).toEqual([
    'eventsource-parser',
    'p-retry',
    'undici',
  ]);
});

test('the client in dist takes the whole of undici if a version has other files', async ({ serve }) => {
  const directory = await mkdtemp(join(tmpdir(), 'playwright-pool-undici-'));
  try {
    const libraries = join(directory, 'node_modules');
    await cp(join(root, 'dist'), join(libraries, 'playwright-pool', 'dist'), { recursive: true });
    await cp(join(root, 'package.json'), join(libraries, 'playwright-pool', 'package.json'));
    await mkdir(join(libraries, 'undici'));
    const whole = JSON.stringify(createRequire(import.meta.url).resolve('undici'));
    await writeFile(join(libraries, 'undici', 'index.js'), `module.exports = require(${whole});`);
    for (const name of ['p-retry', 'is-network-error', 'eventsource-parser'])
      await symlink(join(root, 'node_modules', name), join(libraries, name));
    const server = await serve({ status: 200, json: [{ name: 'answered' }] });
    const program = `
      import { createClient } from 'playwright-pool/client';
      const client = createClient({ baseURL: process.argv[1], apiKey: process.argv[2] });
      for await (const { name } of client.browserPools.list()) console.log(name);
      await client.close();`;
    const options = ['--input-type=module', '--eval', program, server.url, apiKey];
    const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: directory });
    expect(stdout).toBe('answered\n');
  } finally {
    await rm(directory, { recursive: true });
  }
});

/** The libraries that a module and the modules beside it import at their start. */
function librariesOf(module: string, seen = new Set<string>()): string[] {
  seen.add(module);
  const imports = readFileSync(module, 'utf8').matchAll(/(?:^(?:import|export) [^;]*from |\brequire\()"([^"]+)"/gm);
  const names = Array.from(imports, ([, name]) => name!);
  const near = names.filter((name) => name.startsWith('.')).map((name) => join(dirname(module), name));
  const far = names.filter((name) => !/^(?:\.|node:)/.test(name)).map((name) => name.split('/')[0]!);
  return [...new Set([...far, ...near.flatMap((file) => (seen.has(file) ? [] : librariesOf(file, seen)))])].toSorted();
}

function argumentsOf({ path, body, query }: Operation): unknown[] {
  const isBytes = body && 'kind' in body && body.kind === 'octets';
  return [...pathParameterNames(path), ...(body ? [isBytes ? 'bytes' : {}] : []), ...(query ? [{}] : [])];
}

/** The event stream breaks off once. */
function answersOf({ responses }: Operation): ScriptedAnswer[] {
  const [status, { kind }] = Object.entries(responses)[0]!;
  const answered = { status: Number(status) };
  if (kind === 'empty') return [answered];
  if (kind === 'octets') return [{ ...answered, text: 'bytes' }];
  if (kind === 'events') return [eventStream([event(1)], breakOff), eventStream([event(2)])];
  return [{ ...answered, json: kind === 'json' ? { a: 1 } : [{ a: 1 }] }];
}

function event(second: number): string {
  return `data: ${JSON.stringify({ event: 'log', timestamp: `2026-01-01T00:00:0${second}Z`, message: `event ${second}` })}\n\n`;
}

/** The outcome of a call: up to two items of a list or stream, the text of bytes, or the name of the error. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  const items: unknown[] = [];
  try {
    const value = call() as AsyncIterable<unknown> | Promise<unknown>;
    if (Symbol.asyncIterator in value) {
      for await (const item of value) if (items.push(item) === 2) break;
      return items;
    }
    const answer = (await value) as { text?: () => Promise<string> } | undefined;
    return answer?.text ? await answer.text() : answer;
  } catch (error) {
    return [...items, (error as Error).name];
  }
}
