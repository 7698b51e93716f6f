import { execFile, spawnSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess, main } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, printed, test } from '../commands.ts';

for (const [commands, title] of [
  [['call', '--version'], 'commands fail if stdout is a file on a full disk'],
  [['call browsers.create --describe', 'profiles diff --help'], 'a help fails if stdout is on a full disk @long'],
] as const) {
  test(title, () => {
    for (const command of commands) {
      const line = ['-c', '"$@" > /dev/full', 'sh', process.execPath, main, ...command.split(' ')];
      const { status, stderr } = spawnSync('sh', line, { encoding: 'utf8' });
      expect([status, stderr], command).toEqual([1, "playwright-pool: the output can't be written (ENOSPC)\n"]);
    }
  });
}

test('commands exit with 0 and leave no files if their reader closes the pipe', async ({ env }) => {
  await mkdir(outputPath('ann', 'Default'), { recursive: true });
  for (const args of [['list'], ['open', './ann', '--headless']]) {
    await using cli = new CliProcess(['profiles', ...args], { env, cwd: outputPath() });
    cli.child.stdout!.destroy();
    expect(await cli.exited, args[0]).toEqual({ code: 0, signal: null });
    expect(cli.output).toBe('');
  }
});

test('a command that keeps printing exits with 0 when its reader closes the pipe @long', async ({ answering }) => {
  const env = await answering((request, response) => {
    const offset = Number(new URL(request.url!, 'http://x').searchParams.get('offset'));
    const headers = { 'content-type': 'application/json', 'x-has-more': 'true', 'x-next-offset': String(offset + 1) };
    response.writeHead(200, headers).end(JSON.stringify([{ id: `profile-${offset}`, created_at: 'now' }]));
  });
  await using cli = new CliProcess(['call', 'profiles.list'], { env });
  await cli.firstLine();
  cli.child.stdout!.destroy();
  expect(await cli.exited).toEqual({ code: 0, signal: null });
  expect(cli.output).not.toContain('playwright-pool:');
});

test('serve keeps running if nobody reads its first line', async () => {
  const directory = outputPath('data');
  await using cli = new CliProcess(['serve', '--data-dir', directory]);
  cli.child.stdout!.destroy();
  const record = () => readFile(join(directory, 'service.json'), 'utf8').catch(() => '');
  await expect.poll(record, { timeout: 30_000 }).toContain('http');
  const { url, apiKey } = JSON.parse(await record()) as { url: string; apiKey: string };
  expect((await fetch(`${url}/profiles`, { headers: { authorization: `Bearer ${apiKey}` } })).status).toBe(200);
  await cli[Symbol.asyncDispose]();
  // The log, and no error.
  expect(cli.output.match(/(?<=^\S+Z )\w+/gm)).toEqual(['service_started', 'service_ending']);
  expect(cli.output.trimEnd().split('\n')).toHaveLength(2);
  await expectNoProcessWith(directory);
});

test('a download continues if nobody reads its progress', async ({ answering }) => {
  const env = await answering(async (_, response) => {
    // Waits until the command would have printed its progress.
    for (let chunk = 0; chunk < 25; chunk += 1) {
      response.write('.');
      await setTimeout(100);
    }
    response.end();
  });
  await using cli = new CliProcess(['profiles', 'download', 'ann'], { env, cwd: outputPath() });
  cli.child.stderr!.destroy();
  expect(await cli.exited).toEqual({ code: 0, signal: null });
  expect(await readFile(outputPath('ann.tar.zst'), 'utf8')).toBe('.'.repeat(25));
});

test('call writes an output file completely or not at all', async ({ answering, cli }) => {
  const output = outputPath('ann.tar.zst');
  await writeFile(output, 'of yesterday');
  let isWhole = false;
  const env = await answering((_, response) => {
    response.write('of ', () => (isWhole ? response.end('today') : response.destroy()));
  });
  const download = () => cli(`call profiles.download id_or_name=ann --output ${output}`, { env });
  expect(await download()).toMatchObject({ code: 1, stderr: expect.stringContaining('/profiles/ann/download') });
  expect(await readFile(output, 'utf8')).toBe('of yesterday');
  isWhole = true;
  expect(await download()).toMatchObject({ code: 0, stderr: '' });
  expect(await readFile(output, 'utf8')).toBe('of today');
  expect((await readdir(outputPath())).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('call writes into pipes and devices instead of replacing them', async ({ answering, cli }) => {
  const env = await answering((_, response) => response.end('archive'));
  const [pipe, link, file] = [outputPath('pipe'), outputPath('link'), outputPath('file')];
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  await writeFile(file, '');
  await symlink(basename(file), link);
  // An own process opens the pipe: this process could not end as long as nobody writes.
  const reading = promisify(execFile)('cat', [pipe], { timeout: 30_000 });
  const [read, written] = await Promise.all([reading, cli(`profiles download ann -o ${pipe}`, { env })]);
  expect([read.stdout, written.code]).toEqual(['archive', 0]);
  expect((await cli(`profiles download ann -o ${link}`, { env })).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe('archive');
  expect([(await lstat(pipe)).isFIFO(), (await lstat(link)).isSymbolicLink()]).toEqual([true, true]);
});

test('call reports an output file on a full disk by its path', async ({ answering, cli }) => {
  const env = await answering((_, response) => response.end('archive'));
  const full = outputPath('full');
  await symlink('/dev/full', full);
  const stderr = `playwright-pool: ${full} cannot be written (ENOSPC): make room there, or name another place with --output\n`;
  expect(await cli(`profiles download ann -o ${full}`, { env })).toEqual({ code: 1, stdout: '', stderr });
});

test('profiles reports a full temporary directory, and leaves no copy there', async ({ cliProcess: cli }) => {
  const [profile, full] = [outputPath('ann'), outputPath('full')];
  await mkdir(join(profile, 'Default'), { recursive: true });
  await writeFile(join(profile, 'Default', 'History'), Buffer.alloc(2_000_000));
  await mkdir(full);
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'none', full]).status === 0;
  test.skip(!isMounted, 'file systems cannot be mounted here');
  try {
    const stderr = `playwright-pool: there is no room for a copy of ${profile} in ${full} (ENOSPC): make room there, or set TMPDIR to another directory\n`;
    for (const [args, code] of [
      [`open ${profile} --headless`, 1],
      [`diff ${profile} ${profile}`, 2],
    ] as const) {
      expect(await cli(`profiles ${args}`, { env: { TMPDIR: full } })).toEqual({ code, stdout: '', stderr });
      expect(await readdir(full)).toEqual([]);
    }
  } finally {
    spawnSync('umount', ['--lazy', full]);
  }
});

for (const [count, tag] of [
  [1000, ''],
  [130_000, ' @long'],
] as const) {
  test(`a printed table of ${count} rows has aligned columns${tag}`, async ({ answering, cli }) => {
    const names = ['plain', '漢字', 'é', '🎭', ...Array<string>(count - 4).fill('name')];
    const env = await answering((_, response) => {
      const keys = names.map((name) => ({ name, id: 'id', masked_key: 'k', created_at: 'now', expires_at: null }));
      response.setHeader('content-type', 'application/json').end(JSON.stringify(keys));
    });
    const lines = printed(await cli('keys list', { env }))
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(1 + count);
    expect(lines.slice(1, 6)).toEqual([
      'plain  id  k             now      never',
      '漢字   id  k             now      never',
      'é      id  k             now      never',
      '🎭     id  k             now      never',
      'name   id  k             now      never',
    ]);
  });
}
