import { existsSync } from 'node:fs';
import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import type { Client } from '../../../src/client/index.ts';
import { Isolation } from '../../../src/service/chromium/isolation.ts';
import { installedPlaywrights } from '../../../src/service/playwright/installed-playwright.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { PlaywrightCode } from '../../../src/service/processes/playwright-code.ts';
import { Processes } from '../../../src/service/processes/processes.ts';
import { compiledCode } from '../../../src/service/processes/compiled-code.ts';
import { test as sessionTest } from '../../support/service/browser-sessions.ts';
import { runningCount, test as base, uniqueSleep } from '../../support/service/session-processes.ts';

type Execute = (code: string, timeout_sec?: number) => ReturnType<Client['browsers']['playwright']['execute']>;

const test = base.extend<{ execute: Execute }>({
  execute: async ({ client, shell: { id } }, use) =>
    use((code, timeout_sec) => client.browsers.playwright.execute(id, { code, ...(timeout_sec && { timeout_sec }) })),
});

test("playwright/execute runs TypeScript with the session's page and browser", async ({ execute }) => {
  const code = `
    const title: string = 'made';
    await page.setContent(\`<title>\${title}</title>\`);
    console.log('out', await page.title());
    console.error('err');
    await (await context.newPage()).bringToFront();
    return { title: await page.title(), same: page.context() === context, contexts: browser.contexts().length } as object;`;
  expect(await execute(code)).toEqual({
    success: true,
    result: { title: 'made', same: true, contexts: 1 },
    stdout: 'out made\n',
    stderr: 'err\n',
  });
  // The browser keeps its state, and the next code gets the first page, not the one in front.
  expect(await execute('return page.title()')).toMatchObject({ result: 'made' });
});

const others: Record<string, { code: string; answer: Record<string, unknown> }> = {
  'returns nothing': { code: 'await page.title();', answer: { success: true, result: null } },
  'returns a function': { code: 'return () => 1', answer: { success: true, result: null } },
  'returns a BigInt': { code: 'return 1n', answer: { success: false, error: expect.stringContaining('BigInt') } },
  'takes a picture': {
    code: "return (await page.screenshot()).toString('base64')",
    answer: { success: true, result: expect.stringMatching(/^iVBORw0KGgo/) },
  },
  'returns a cycle': { code: 'const a: any = {}; a.a = a; return a', answer: { success: false } },
  'throws a text': { code: "throw 'text'", answer: { success: false, error: "'text'" } },
  'is not valid TypeScript': {
    code: 'const = 1',
    answer: { success: false, error: 'TypeScript transform error: Unexpected token in line 1' },
  },
  'ends its process': { code: 'process.exit(3)', answer: { success: false, error: expect.stringContaining('code 3') } },
  'leaves a rejection unhandled': {
    code: "void Promise.reject(new Error('beside')); await page.waitForTimeout(60_000)",
    answer: { success: false, stderr: expect.stringContaining('beside') },
  },
  'imports a module': {
    code: "const { basename } = await import('node:path'); return basename('/a/b')",
    answer: { success: true, result: 'b' },
  },
  'is TypeScript and imports a module': {
    code: "const { basename } = await import('node:path'); return basename('/a/b') as string",
    answer: { success: true, result: 'b' },
  },
};

test('playwright/execute returns results and errors of any code @long', async ({ execute }) => {
  const failed = await execute("console.log('before'); throw new TypeError('not today');");
  expect(failed).toMatchObject({ success: false, error: 'not today', stdout: 'before\n' });
  expect(failed.stderr).toMatch(/^TypeError: not today\n +at /);
  expect(failed).not.toHaveProperty('result');
  for (const [title, { code, answer }] of Object.entries(others))
    await test.step(title, async () => expect(await execute(code)).toMatchObject(answer));
});

test('a timeout ends code in an endless loop and its children @long', async ({ execute }) => {
  test.skip(process.platform !== 'linux', 'counts processes');
  const line = uniqueSleep();
  const [command, seconds] = line.split(' ');
  const code = `
    const { spawn } = await import('node:child_process');
    spawn('${command}', ['${seconds}'], { detached: true });
    for (;;);`;
  const answer = await execute(code, 5);
  expect(answer).toMatchObject({ success: false, error: 'Execution timed out after 5000ms' });
  await expect.poll(() => runningCount(line)).toBe(0);
  expect(await execute('return 1')).toMatchObject({ success: true, result: 1 });
});

sessionTest('a caller that hangs up while its code starts keeps no turn', async ({ session, sessions }, testInfo) => {
  const code = new PlaywrightCode({
    processes: new Processes({ directory: testInfo.outputPath('sessions'), clock: systemClock }),
    installed: installedPlaywrights([]),
    isolation: new Isolation(undefined, testInfo.outputPath('sessions')),
    clock: systemClock,
  });
  const execute = (text: string, signal: AbortSignal) =>
    code.execute(session, { code: text, timeout_sec: 60 }, { signal, waiting: session.claimBytes() });
  expect(await execute('return 1', new AbortController().signal)).toMatchObject({ result: 1 });
  const hangUp = new AbortController();
  const endless = execute('while (true);', hangUp.signal).catch((error: unknown) => error);
  // The code's process doesn't run yet.
  setImmediate(() => hangUp.abort(new Error('the caller has left')));
  expect(await execute('return 2', new AbortController().signal)).toMatchObject({ result: 2 });
  expect(await endless).toMatchObject({ message: 'the caller has left' });
  code.close();
  await sessions.close();
});

test('ending a session ends its running code @long', async ({ execute, client, shell: { id } }) => {
  test.skip(process.platform !== 'linux', 'counts processes');
  const line = uniqueSleep();
  const [command, seconds] = line.split(' ');
  const code = `(await import('node:child_process')).spawn('${command}', ['${seconds}']); for (;;);`;
  const ended = expect(execute(code)).rejects.toMatchObject({ status: expect.any(Number) });
  await expect.poll(() => runningCount(line)).toBe(1);
  await client.browsers.deleteByID(id);
  await ended;
  await expect.poll(() => runningCount(line)).toBe(0);
});

test('code of a session runs one after the other, and without a flood of output @long', async ({ execute }) => {
  const code = `const before = await page.evaluate(() => (window.count = (window.count ?? 0) + 1));
    await page.waitForTimeout(200);
    return [before, await page.evaluate(() => window.count)];`;
  const runs = await Promise.all([1, 2, 3].map(() => execute(code)));
  const counts = runs.map(({ result }) => JSON.stringify(result)).toSorted();
  expect(counts).toEqual(['[1,1]', '[2,2]', '[3,3]']);
  const flood = await execute("for (let i = 0; i < 50; i++) console.log('x'.repeat(100_000));");
  expect(flood.success).toBe(true);
  expect(flood.stdout!.length).toBeLessThan(1024 * 1024 + 100);
  expect(flood.stdout).toContain('the rest was dropped');
});

type Seen = { uid: number; denied: string[]; environment: string; cwd: string };

test("code runs as the session's user, without secrets @long", async ({ execute, service }, testInfo) => {
  test.skip(process.getuid?.() !== 0, 'only root can give sessions users of their own');
  process.env['PLAYWRIGHT_POOL_TEST_SECRET'] = 'hidden';
  const code = `
    const { readFileSync } = await import('node:fs');
    const denied = [];
    for (const file of ${JSON.stringify([testInfo.outputPath('data/api-key'), `/proc/${process.pid}/environ`])})
      try { readFileSync(file); } catch (error) { denied.push(error.code); }
    return { uid: process.getuid(), denied, environment: JSON.stringify(process.env), cwd: process.cwd() };`;
  const { result } = await execute(code);
  delete process.env['PLAYWRIGHT_POOL_TEST_SECRET'];
  const { uid, denied, environment, cwd } = result as Seen;
  expect(uid).toBeGreaterThanOrEqual(20_000);
  expect(denied).toEqual(['EACCES', expect.stringMatching(/^(EACCES|ENOENT)$/)]);
  expect(existsSync(testInfo.outputPath('data/api-key'))).toBe(true);
  expect(environment).not.toMatch(new RegExp(`hidden|${service.apiKey}`));
  expect(cwd).toMatch(/\/root\/home\/user$/);
});

test("the hosted service's SDK runs code with playwright/execute @long", async ({ service, shell: { id } }) => {
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const code = "await page.setContent('<h1>public</h1>'); return page.locator('h1').textContent();";
  expect(await kernel.browsers.playwright.execute(id, { code, timeout_sec: 30 })).toMatchObject({
    success: true,
    result: 'public',
  });
  await expect(kernel.browsers.playwright.execute(id, { code: '' })).rejects.toMatchObject({ status: 400 });
});

test('without jiti, TypeScript fails with the command that installs it, and JavaScript works', async () => {
  await expect(compiledCode('const a: number = 1', undefined)).rejects.toThrow(/npm install jiti/);
  const nothing = undefined as never;
  expect(await (await compiledCode('return 7', undefined))(nothing, nothing, nothing)).toBe(7);
});
