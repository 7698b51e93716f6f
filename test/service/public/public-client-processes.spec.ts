import { expect } from '@playwright/test';
import Kernel, { BadRequestError, InternalServerError, NotFoundError } from '@onkernel/sdk';
import { test as base } from '../../support/service/service.ts';
import { decoded, encoded } from '../../support/service/session-processes.ts';

const test = base.extend<{ kernel: Kernel; id: string }>({
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey })),
  id: async ({ kernel }, use) => use((await kernel.browsers.create()).session_id),
});

test("the hosted service's SDK runs programs in a session", async ({ kernel, id }) => {
  const programs = kernel.browsers.process;
  const done = await programs.exec(id, {
    command: 'sh',
    args: ['-c', 'echo out; echo err >&2; exit 2'],
    timeout_sec: 30,
  });
  expect(done).toMatchObject({ exit_code: 2, stdout_b64: encoded('out\n'), stderr_b64: encoded('err\n') });

  const { process_id, pid, started_at } = await programs.spawn(id, {
    command: 'cat',
    cwd: '/home/user',
    env: { A: 'b' },
  });
  expect(process_id).toMatch(/^[\da-f]{8}-/);
  expect([typeof pid, Number.isNaN(Date.parse(started_at!))]).toEqual(['number', false]);
  expect(await programs.status(process_id!, { id })).toMatchObject({ state: 'running', exit_code: null });
  const stream = await programs.stdoutStream(process_id!, { id });
  expect(await programs.stdin(process_id!, { id, data_b64: encoded('line\n') })).toEqual({ written_bytes: 5 });
  const events = [];
  for await (const event of stream) {
    events.push(event);
    if (event.stream) expect(await programs.kill(process_id!, { id, signal: 'TERM' })).toEqual({ ok: true });
  }
  expect(events).toEqual([
    { stream: 'stdout', data_b64: encoded('line\n') },
    { event: 'exit', exit_code: -1 },
  ]);
  const resized = programs.resize(process_id!, { id, rows: 10, cols: 20 });
  await expect(resized).rejects.toThrow(BadRequestError);
});

test("the hosted service's SDK opens terminals, and gets errors without a retry @long", async ({ kernel, id }) => {
  test.skip(process.platform === 'win32', 'Windows has no sh');
  const programs = kernel.browsers.process;
  const { process_id } = await programs.spawn(id, {
    command: 'sh',
    args: ['-c', 'read line; stty size'],
    allocate_tty: true,
    rows: 10,
    cols: 20,
  });
  await programs.resize(process_id!, { id, rows: 11, cols: 22 });
  await programs.stdin(process_id!, { id, data_b64: encoded('\n') });
  let output = '';
  for await (const event of await programs.stdoutStream(process_id!, { id })) output += decoded(event.data_b64 ?? '');
  expect(output).toContain('11 22');
  const count = 'echo >> runs.txt; sleep 60';
  const late = programs.exec(id, { command: 'sh', args: ['-c', count], timeout_sec: 1 });
  await expect(late).rejects.toThrow(InternalServerError);
  const runs = await programs.exec(id, { command: 'cat', args: ['runs.txt'] });
  expect(decoded(runs.stdout_b64!)).toBe('\n');
  await expect(programs.exec('nowhere', { command: 'true' })).rejects.toThrow(NotFoundError);
});
