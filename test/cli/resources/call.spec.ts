import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { contract } from '../../../src/contract/contract.ts';
import { operationsOf } from '../../../src/contract/operation.ts';
import { main } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectFailure, printed, test } from '../commands.ts';

test('call lists and describes every operation of the contract', async ({ cli }) => {
  const operations = [...operationsOf(contract)].filter(([, operation]) => !('deprecated' in operation));
  const { code, stdout } = await cli('call');
  expect(code).toBe(0);
  const [, ...lines] = stdout.trimEnd().split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual(operations.map(([name]) => name));
  const { stdout: description } = await cli('call browserPools.acquire --describe');
  expect(JSON.parse(description)).toMatchObject({
    request: 'POST /browser_pools/{id_or_name}/acquire',
    summary: expect.any(String),
    body: { 'application/json': { schema: { properties: { acquire_timeout_seconds: expect.anything() } } } },
    parameters: expect.arrayContaining([expect.objectContaining({ name: 'id_or_name', in: 'path', required: true })]),
  });
});

test('call puts its parameters into path, query and body, and reads and writes files', async ({ cli }) => {
  const created = printed(await cli('call browsers.create name=checkout timeout_seconds:=120 tags:={"team":"shop"}'));
  const session = JSON.parse(created);
  expect(session).toMatchObject({ name: 'checkout', timeout_seconds: 120, tags: { team: 'shop' } });
  const listed = printed(await cli('call browsers.list status=active tags:={"team":"shop"}'));
  // A line for each item.
  expect(JSON.parse(listed)).toMatchObject({ name: 'checkout' });

  const [input, output] = [outputPath('in'), outputPath('out')];
  const content = Buffer.from([0, 1, 2, 255]);
  await writeFile(input, content);
  const file = `id=${session.session_id} path=/home/user/a`;
  printed(await cli(`call browsers.fs.writeFile ${file} --input ${input}`));
  expect(printed(await cli(`call browsers.fs.readFile ${file} --output ${output}`))).toBe('');
  expect(await readFile(output)).toEqual(content);
  await writeFile(input, 'grüße\n');
  printed(await cli(`call browsers.fs.upload id=${session.session_id} dest_path=/home/user/b file=@${input}`));
  expect(printed(await cli(`call browsers.fs.readFile id=${session.session_id} path=/home/user/b`))).toBe('grüße\n');
  expect(printed(await cli('call browsers.deletebyid id_or_name=checkout'))).toBe('');

  await writeFile(input, '{"name":"ann"}');
  expect(JSON.parse((await cli(`call profiles.create --input ${input}`)).stdout)).toMatchObject({ name: 'ann' });
  const both = await cli(`call profiles.create name=bob --input ${input}`);
  expectFailure(both, 2, 'as parameters or with --input, not both');
});

test('call exits with 3 if the service has no result yet', async ({ cli, service: { call } }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  expect((await call('POST', '/browser_pools/ci/acquire', {})).status).toBe(200);
  for (const args of [
    `profiles.download id_or_name=ann --output ${outputPath('ann.tar.zst')}`,
    'browserPools.acquire id_or_name=ci acquire_timeout_seconds:=0',
  ])
    expectFailure(await cli(`call ${args}`), 3, 'call it again later');
});

test('call explains unknown operations, wrong parameters and unreadable files', async ({ cli }) => {
  const fields = 'is not a field of POST /browsers: the fields there are';
  for (const [args, code, message] of [
    ['browsers.destroy', 2, 'there is no operation browsers.destroy'],
    ['browsers.writeFile', 2, 'did you mean browsers.fs.writeFile?'],
    ['browsers.retrieve', 2, 'needs more parameters: id_or_name=...'],
    ['browsers.create name', 2, 'write name=text or name:=json'],
    ['browsers.create timeout_seconds:=soon', 2, 'is not JSON'],
    ['browsers.list colour=red', 2, 'colour is not a parameter of GET /browsers'],
    ['browsers.create timeout_seconds:=1', 1, 'timeout_seconds'],
    ['browsers.create nam=x', 2, `nam ${fields} name, tags, engine, headless,`],
    ['browsers.create viewport:={"width":1,"hight":1}', 2, `viewport.hight ${fields} width, height, refresh_rate`],
    ['browsers.fs.writeFile id=a path=/b', 2, 'pass the file with --input'],
    ['profiles.create name=ann --output ann.json', 2, "doesn't answer with a file: leave out --output"],
    ['browsers.fs.upload id=a dest_path=/a file=@missing', 1, "'missing'"],
    // It reports the missing parameter before it reads the file of another one.
    ['browsers.fs.upload file=@missing', 2, 'pool: /browsers/{id}/fs/upload needs more parameters: id=...\n'],
  ] as const)
    expectFailure(await cli(`call ${args}`), code, message);
  expect(printed(await cli('profiles list'))).toBe('There are no profiles.\n');
});

test('Ctrl+C ends a call command that waits for its body on stdin', async ({ env }) => {
  const child = spawn(process.execPath, [main, 'call', 'browsers.create', '--input', '-'], {
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  // More than the pipe holds: once it is written, the command has begun to read.
  await new Promise((resolve) => child.stdin.write(' '.repeat(2 ** 20), resolve));
  child.kill('SIGINT');
  expect(await exited).toEqual([130, null]);
});
