import { expect } from '@playwright/test';
import { createClient, type Client } from '../../../src/client/index.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { encoded, reading, runningCount, test } from '../../support/service/session-processes.ts';
import { uniqueSleep, type Shell } from '../../support/service/session-processes.ts';

test.skip(process.platform === 'win32', 'the terminals of Windows have other programs');

test('a program runs in a terminal of the given size, which can change', async ({ shell, programs }) => {
  const id = await inTerminal(
    programs,
    shell,
    'tty; echo $TERM; stty size; trap "stty size; exit 5" WINCH; echo ready; while :; do sleep 0.1; done',
    { rows: 30, cols: 100 },
  );
  const read = reading(programs.stdoutStream(shell.id, id));
  await read.until('ready\r\n');
  expect(read.text()).toMatch(/^\/dev\/\S+\r\nxterm-256color\r\n30 100\r\nready\r\n$/);
  expect(await programs.resize(shell.id, id, { rows: 40, cols: 120 })).toEqual({ ok: true });
  await read.end();
  expect(read.text()).toMatch(/ready\r\n40 120\r\n$/);
  expect(read.events.at(-1)).toEqual({ event: 'exit', exit_code: 5 });
  await expect(programs.resize(shell.id, id, { rows: 1, cols: 1 })).rejects.toMatchObject({ status: 409 });
});

test('a terminal keeps output, and passes input and Control+C on @long', async ({ shell, programs }) => {
  const id = await inTerminal(programs, shell, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; exit 3");
  // More than the service keeps: the program waits for its reader.
  const read = reading(programs.stdoutStream(shell.id, id));
  await read.until('x');
  // A new reader gets the rest.
  const rest = reading(programs.stdoutStream(shell.id, id));
  await Promise.all([read.end(), rest.end()]);
  expect(read.text().length + rest.text().length).toBe(3_000_000 + '\r\nlast\r\n'.length);
  expect(rest.text().slice(-8)).toBe('\r\nlast\r\n');
  expect(rest.events.at(-1)).toEqual({ event: 'exit', exit_code: 3 });

  const write = (id: string, text: string) => programs.stdin(shell.id, id, { data_b64: encoded(text) });
  const sorting = await inTerminal(programs, shell, 'stty -echo; echo ready; sort; echo sorted');
  const sorted = reading(programs.stdoutStream(shell.id, sorting));
  await sorted.until('ready');
  await write(sorting, 'b\nä\na\n\x04');
  await sorted.end();
  expect(sorted.text()).toBe('ready\r\na\r\nb\r\nä\r\nsorted\r\n');
  const trap = `trap 'echo interrupted; exit 6' INT; echo ready; while :; do sleep 0.1; done`;
  const waiting = await inTerminal(programs, shell, trap);
  const interrupted = reading(programs.stdoutStream(shell.id, waiting));
  await interrupted.until('ready');
  await write(waiting, '\x03');
  await interrupted.end();
  expect(interrupted.text()).toContain('interrupted');
  expect(interrupted.events.at(-1)).toEqual({ event: 'exit', exit_code: 6 });

  // It buffers up to 1 MiB of input that its program does not read.
  const asleep = await inTerminal(programs, shell, `stty raw -echo; echo ready; ${uniqueSleep()}`);
  await reading(programs.stdoutStream(shell.id, asleep)).until('ready');
  const fill = () =>
    programs.stdin(shell.id, asleep, { data_b64: Buffer.alloc(500_000, 'x').toString('base64') }).then(
      () => 200,
      ({ status }: { status: number }) => status,
    );
  await expect.poll(fill).toBe(409);
  // The terminal still takes signals.
  await programs.kill(shell.id, asleep, { signal: 'KILL' });
});

test('signals, timeouts and the end of a session end terminals @long', async ({ client, shell, programs }) => {
  test.skip(process.platform !== 'linux', 'counts processes');
  const [killed, late, ignoring] = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
  const one = await inTerminal(programs, shell, `exec ${killed}`);
  const two = await inTerminal(programs, shell, `trap '' HUP TERM; ${late}`, { timeout_sec: 1 });
  await inTerminal(programs, shell, `trap '' HUP TERM; ${ignoring}`);
  await expect.poll(() => [killed, ignoring].map(runningCount)).toEqual([1, 1]);
  await programs.kill(shell.id, one, { signal: 'TERM' });
  for (const id of [one, two])
    await expect.poll(() => programs.status(shell.id, id)).toMatchObject({ state: 'exited', exit_code: -1 });
  await client.browsers.deleteByID(shell.id);
  await expect.poll(() => [killed, late, ignoring].map(runningCount)).toEqual([0, 0, 0]);
});

test('without node-pty, a terminal fails with the command that installs it, and programs run @long', async ({}, testInfo) => {
  const hook = `export async function resolve(name, context, next) {
    if (name === '@lydell/node-pty') throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' });
    return await next(name, context);
  }`;
  const register = `import { register } from 'node:module'; register(${JSON.stringify(moduleUrl(hook))});`;
  const apiKey = 'key';
  await using service = new CliProcess(['serve', '--data-dir', testInfo.outputPath('data')], {
    env: { PLAYWRIGHT_POOL_API_KEY: apiKey, NODE_OPTIONS: `--import=${moduleUrl(register)}` },
  });
  const baseURL = (await service.firstLine()).replace(/^listening on /, '');
  await using client = createClient({ baseURL, apiKey });
  const { session_id: id } = await client.browsers.create();
  const { process: programs } = client.browsers;
  const started = programs.spawn(id, { command: 'true', allocate_tty: true });
  await expect(started).rejects.toMatchObject({
    status: 501,
    message: expect.stringMatching(/allocate_tty.*npm install @lydell\/node-pty/),
  });
  expect((await programs.exec(id, { command: 'true' })).exit_code).toBe(0);
});

function moduleUrl(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

async function inTerminal(
  programs: Client['browsers']['process'],
  { id }: Shell,
  line: string,
  options: { rows?: number; cols?: number; timeout_sec?: number } = {},
): Promise<string> {
  const command = { command: 'sh', args: ['-c', line], allocate_tty: true };
  return (await programs.spawn(id, { ...command, ...options })).process_id;
}
