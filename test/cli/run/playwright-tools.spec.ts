import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { outputPath } from '../../support/runs/output-path.ts';
import { serve } from '../../support/http/serve.ts';
import { CliProcess, main } from '../../support/service/service-process.ts';
import { expect, expectFailure, test as base } from '../commands.ts';

const test = base.extend<{ shortEnv: Record<string, string> }>({
  /** With a directory whose path is short enough for Playwright's sockets. */
  shortEnv: async ({ env }, use) => {
    const directory = await mkdtemp(join(tmpdir(), 'tools-'));
    await use({ ...env, TMPDIR: directory });
    await rm(directory, { recursive: true });
  },
});

type Answer = { id?: number; result: { content?: { text: string }[]; serverInfo?: { name: string } } };

// Each command of Playwright is a process of its own.
test.slow();

/** A client of an MCP server: a JSON-RPC message is a line. */
class AgentClient {
  readonly #server: ChildProcess;
  readonly #lines;
  #id = 0;

  constructor(server: ChildProcess) {
    this.#server = server;
    this.#lines = createInterface(server.stdout!)[Symbol.asyncIterator]();
  }

  async call(method: string, params: object): Promise<Answer['result']> {
    const id = ++this.#id;
    this.notify(method, params, id);
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`the server ended before its answer to ${method}`);
      const answer = JSON.parse(value) as Answer;
      if (answer.id === id) return answer.result;
    }
  }

  notify(method: string, params: object, id?: number): void {
    this.#server.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  }
}

test("mcp starts Playwright's server, whose tools act in a leased browser", async ({ shortEnv: env, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  await using site = await serve({ '/': '<title>Shop</title><h1>Tea</h1>' });
  await mkdir(outputPath(), { recursive: true });
  const server = spawn(process.execPath, [main, 'mcp', '--', '--caps', 'vision'], {
    cwd: outputPath(),
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  const agent = new AgentClient(server);
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  expect((await agent.call('initialize', client)).serverInfo!.name).toContain('Playwright');
  agent.notify('notifications/initialized', {});
  const leases = async () => (await service.call('GET', '/browser_pools/ci')).body.acquired_count;
  expect(await leases()).toBe(0);
  const navigate = { name: 'browser_navigate', arguments: { url: `http://localhost:${site.port}/` } };
  const { content } = await agent.call('tools/call', navigate);
  expect(content!.map(({ text }) => text).join('\n')).toContain('Page Title: Shop');
  expect(await leases()).toBe(1);
  const commandLine = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
    .then((children) => readFile(`/proc/${children.trim().split(' ')[0]}/cmdline`, 'utf8'))
    .catch(() => 'not on this system');
  expect(commandLine).not.toContain(service.apiKey);
  server.stdin.end();
  await exited;
  await expect.poll(leases).toBe(0);
});

for (const end of ['attach is interrupted', 'attach is killed @long', 'its session is closed @long'])
  test(`attach attaches Playwright's command line until ${end}`, async ({ shortEnv: env, service }, testInfo) => {
    await service.call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
    await mkdir(outputPath(), { recursive: true });
    // Playwright's sessions of all directories share their names.
    const session = `shop-${testInfo.parallelIndex}`;
    const playwright = join(import.meta.dirname, '../../../node_modules/playwright/cli.js');
    const leases = async () => (await service.call('GET', '/browser_pools/ci')).body.acquired_count;
    const cli = async (...words: string[]) => {
      const command = new CliProcess(['cli', `-s=${session}`, ...words], { main: playwright, cwd: outputPath(), env });
      expect((await command.exited).code, command.output).toBe(0);
      return command.output;
    };
    await using attached = new CliProcess(['attach', '--session', session], { cwd: outputPath(), env });
    await expect.poll(() => attached.output, { timeout: 60_000 }).toContain('Press Ctrl+C');
    expect(attached.output).not.toContain(service.apiKey);
    expect(await leases()).toBe(1);
    expect(await cli('goto', 'data:text/html,<title>Shop</title>')).toContain('Page Title: Shop');
    const isInterrupted = end === 'attach is interrupted';
    const isKilled = end.startsWith('attach is killed');
    if (isInterrupted) attached.child.kill('SIGINT');
    else if (isKilled) attached.child.kill('SIGKILL');
    else await cli('close');
    expect((await attached.exited).code, attached.output).toBe(isKilled ? null : isInterrupted ? 130 : 0);
    await expect.poll(leases, { timeout: 30_000 }).toBe(0);
  });

test('mcp and attach say that the installed Playwright is too old or missing', async ({ cliProcess }) => {
  const directory = outputPath('old');
  const installed = join(directory, 'node_modules/@playwright/test');
  await mkdir(installed, { recursive: true });
  await writeFile(join(installed, 'package.json'), '{"name":"@playwright/test","version":"1.2.3"}');
  await writeFile(join(installed, 'cli.js'), 'console.log("Commands:\\n  open [options] [url]")');
  for (const [command, needed] of [
    ['mcp', 'mcp'],
    ['attach', 'cli'],
  ] as const)
    expectFailure(
      await cliProcess([command], { cwd: directory }),
      1,
      `Playwright 1.2.3 in ${installed} has no command "${needed}". Install a newer one`,
    );
});
