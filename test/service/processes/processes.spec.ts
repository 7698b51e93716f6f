import { readFileSync } from 'node:fs';
import { expect } from '@playwright/test';
import { sessionDirectory } from '../../support/service/machines.ts';
import { decoded, encoded, reading, runningCount, test, uniqueSleep } from '../../support/service/session-processes.ts';

test('runs programs in the home directory and the background', async ({ client, shell, programs }, testInfo) => {
  const { id } = shell;
  const { fs } = client.browsers;
  await fs.writeFile(id, Buffer.from('written'), { path: '/home/user/a.txt' });
  const result = await programs.exec(id, {
    command: 'sh',
    args: ['-c', 'cat a.txt; echo "$WORD" >&2; pwd > b.txt; exit 3'],
    env: { WORD: 'given' },
  });
  expect({ ...result, stdout: decoded(result.stdout_b64), stderr: decoded(result.stderr_b64) }).toMatchObject({
    exit_code: 3,
    stdout: 'written',
    stderr: 'given\n',
    duration_ms: expect.any(Number),
  });
  const home = `${sessionDirectory(testInfo.outputPath('data'), id)}/root/home/user`;
  expect(readFileSync(`${home}/b.txt`, 'utf8')).toBe(`${home}\n`);
  // No shell, no input, and the exit code of a signal.
  const echoed = await programs.exec(id, { command: 'echo', args: ['$HOME', '*;'], cwd: '/tmp' });
  expect(decoded(echoed.stdout_b64)).toBe('$HOME *;\n');
  expect((await programs.exec(id, { command: 'cat' })).exit_code).toBe(0);
  expect((await programs.exec(id, { command: 'sh', args: ['-c', 'kill -9 $$'] })).exit_code).toBe(-1);

  // A program in the background takes input, streams its output and gets signals.
  const processId = await shell.spawn('echo begun; cat');
  const input = { data_b64: encoded('grüße\n') };
  expect(await programs.stdin(id, processId, input)).toMatchObject({ written_bytes: 8 });
  const read = reading(programs.stdoutStream(id, processId));
  await read.until('begun\ngrüße\n');
  const status = await programs.status(id, processId);
  expect(status).toMatchObject({ state: 'running', exit_code: null });
  if (process.platform === 'linux') expect(status.mem_bytes).toBeGreaterThan(0);
  expect(await programs.kill(id, processId, { signal: 'HUP' })).toEqual({ ok: true });
  await read.end();
  expect(read.events.at(-1)).toEqual({ event: 'exit', exit_code: -1 });
  expect(await programs.status(id, processId)).toEqual({ state: 'exited', exit_code: -1 });
  for (const call of [programs.kill(id, processId, {}), programs.stdin(id, processId, input)])
    await expect(call).rejects.toMatchObject({ status: 409, message: expect.stringContaining('has ended') });
  const resized = programs.resize(id, processId, { rows: 1, cols: 1 });
  await expect(resized).rejects.toMatchObject({ status: 400, message: expect.stringContaining('no terminal') });
});

test('runs 32 programs at once, and refuses missing ones @long', async ({ client, shell, programs }) => {
  const { id } = shell;
  const script = Buffer.from('#!/bin/sh\necho "$0 $1"\n');
  await client.browsers.fs.writeFile(id, script, { path: '/home/user/run', mode: '755' });
  for (const command of ['/home/user/run', './run']) {
    const { stdout_b64 } = await client.browsers.process.exec(id, { command, args: ['one'] });
    expect(decoded(stdout_b64)).toMatch(/home\/user\/run one\n$/);
  }

  const refusals: [body: Parameters<typeof programs.exec>[1], status: number, message: RegExp][] = [
    [{ command: 'no-such-program' }, 400, /there is no program "no-such-program" in PATH. The service uses no shell/],
    [{ command: '/no/such' }, 400, /there is no program/],
    [{ command: '/etc/passwd' }, 400, /there is no program/],
    [{ command: 'ls', cwd: '/nowhere' }, 400, /there is no directory \/nowhere/],
    [{ command: 'ls', cwd: '/../..' }, 403, /leads out of the session/],
    [{ command: 'ls', as_root: true }, 501, /does not support as_root/],
    [{ command: 'ls', as_user: 'nobody' }, 501, /does not support as_user/],
    [{ command: 'ls', as_user: 'nobody', as_root: true }, 400, /either as_root or as_user, not both/],
    [{ command: 'ls', args: ['x'.repeat(200_000)] }, 400, /E2BIG/],
  ];
  for (const [body, status, message] of refusals) {
    await expect(programs.exec(id, body), JSON.stringify(body).slice(0, 100)).rejects.toMatchObject({
      status,
      message: expect.stringMatching(message),
    });
  }
  await expect(programs.status(id, 'nothing')).rejects.toMatchObject({ status: 404 });

  const ids = await Promise.all(Array.from({ length: 32 }, () => shell.spawn('read line')));
  const tooMany = programs.exec(shell.id, { command: 'true' }, { maxRetries: 0 });
  await expect(tooMany).rejects.toMatchObject({ status: 429, message: expect.stringContaining('32 processes') });
  await programs.stdin(shell.id, ids[0]!, { data_b64: encoded('go\n') });
  await reading(programs.stdoutStream(shell.id, ids[0]!)).end();
  expect((await programs.exec(shell.id, { command: 'true' })).exit_code).toBe(0);
});

test('a timeout ends a process group, even if it ignores SIGTERM @long', async ({ shell, programs }) => {
  const { id } = shell;
  const [child, single] = [uniqueSleep(), uniqueSleep()];
  const line = `trap 'echo told > told.txt' TERM; (trap '' TERM; ${child}) & while :; do wait; done`;
  const late = programs.exec(id, { command: 'sh', args: ['-c', line], timeout_sec: 1 });
  await expect(late).rejects.toMatchObject({
    status: 500,
    code: 'process_timed_out',
    message: expect.stringMatching(/process timed out/),
  });
  expect(await shell.run('cat told.txt')).toBe('told');
  await expect.poll(() => runningCount(child)).toBe(0);
  const [command = '', seconds = ''] = single.split(' ');
  const spawned = await programs.spawn(id, { command, args: [seconds], timeout_sec: 1 });
  await expect.poll(async () => (await programs.status(id, spawned.process_id)).state).toBe('exited');
});

test('programs wait for their readers, and refuse more input than they read @long', async ({ shell, programs }) => {
  const processId = await shell.spawn("head -c 30000000 /dev/zero | tr '\\0' x; echo end");
  const read = reading(programs.stdoutStream(shell.id, processId));
  await read.end();
  expect(read.text()).toHaveLength(30_000_004);
  expect(read.events.at(-1)).toEqual({ event: 'exit', exit_code: 0 });
  // Nobody reads this one: at most 1 MiB and the pipe are written.
  const flood = await shell.spawn('yes > /dev/stderr & yes | while read x; do echo $x; echo >> lines.txt; done');
  let before = -1;
  await expect
    .poll(
      async () => {
        const now = Number(await shell.run('wc -l < lines.txt || echo 0'));
        const isSteady = now === before;
        before = now;
        return isSteady && now > 0;
      },
      // The shell writes one line after the other.
      { timeout: 40_000 },
    )
    .toBe(true);
  await programs.kill(shell.id, flood, { signal: 'KILL' });
  await expect(programs.exec(shell.id, { command: 'yes' })).rejects.toMatchObject({ status: 413 });

  const ended = await shell.spawn('echo out; echo err >&2; exit 4');
  await expect.poll(async () => (await programs.status(shell.id, ended)).state).toBe('exited');
  const late = reading(programs.stdoutStream(shell.id, ended));
  await late.end();
  expect([late.text('stdout'), late.text('stderr')]).toEqual(['out\n', 'err\n']);
  expect(late.events.at(-1)).toEqual({ event: 'exit', exit_code: 4 });

  const sleeping = await shell.spawn(uniqueSleep());
  const write = () => programs.stdin(shell.id, sleeping, { data_b64: Buffer.alloc(700_000).toString('base64') });
  await write();
  await expect(write()).rejects.toMatchObject({ status: 409, message: expect.stringContaining('does not read') });
  const closed = await shell.spawn(`exec <&-; echo closed; ${uniqueSleep()}`);
  await reading(programs.stdoutStream(shell.id, closed)).until('closed');
  const refused = () =>
    programs.stdin(shell.id, closed, { data_b64: encoded('x') }).then(
      () => '',
      ({ message }: Error) => message,
    );
  await expect.poll(refused).toContain('closed its standard input');
});
