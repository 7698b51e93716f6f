import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startService } from '../../../src/service/service.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectExit, expectFailure, printed, test } from '../commands.ts';

test('replays lists, downloads and opens a recording, also by its id alone', async ({ cli, service }) => {
  const { session_id: id } = (await service.call('POST', '/browsers', {})).body;
  expect(printed(await cli(`replays list ${id}`))).toBe('There are no recordings of this session.\n');
  const { replay_id, replay_view_url: link } = (await service.call('POST', `/browsers/${id}/replays`, {})).body;
  const row = new RegExp(`^ID +STARTED +FINISHED +ERROR\\n${replay_id} +\\S+ +recording`);
  expect((await cli(`replays list ${id}`)).stdout).toMatch(row);
  await service.call('POST', `/browsers/${id}/replays/${replay_id}/stop`);
  await service.call('DELETE', `/browsers/${id}`);

  const file = outputPath('failure.mp4');
  const downloaded = await cli(`replays download ${id} ${replay_id} -o ${file}`);
  expect(printed(downloaded)).toMatch(/^Wrote .*failure\.mp4 \(/);
  const video = await readFile(file);
  expect(video.length).toBeGreaterThan(0);
  const { headers } = await service.call('GET', `/browsers/${id}/replays/${replay_id}`);
  const name = `${replay_id}.${headers.get('content-type') === 'video/mp4' ? 'mp4' : 'webm'}`;
  await mkdir(outputPath('there'));
  for (const directory of ['there', 'new/']) {
    printed(await cli(`replays download ${id} ${replay_id} -o ${directory}`));
    expect(await readdir(outputPath(directory))).toEqual([name]);
  }
  const listed = await cli(`replays list ${id} --json`);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ replay_id }]);
  expect(listed.stdout).not.toContain('replay_view_url');
  expect((await cli(`replays open ${id} --print`)).stdout).toBe(`${link}\n`);
  expect(JSON.parse((await cli(`replays open ${id} --json`)).stdout)).toEqual({ url: link });
  expect((await cli(`replays open ${replay_id} --print`)).stdout).toBe(`${link}\n`);
  printed(await cli(`replays download ${replay_id} -o alone.mp4`));
  expect(await readFile(outputPath('alone.mp4'))).toEqual(video);
  expectFailure(await cli(`replays open ${id} none --print`), 1, 'no recording none');

  // It prints the link if no program opens it.
  const directory = outputPath('bin');
  await mkdir(directory);
  const open = async (env: Record<string, string>, exitCode = 0) => {
    const script = `#!/bin/sh\necho "$1" > ${join(directory, 'opened')}\nexit ${exitCode}\n`;
    await writeFile(join(directory, 'xdg-open'), script, { mode: 0o755 });
    return await cli(`replays open ${id}`, { env: { DISPLAY: '', WAYLAND_DISPLAY: '', PATH: directory, ...env } });
  };
  expect(await open({ DISPLAY: ':0' })).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await readFile(join(directory, 'opened'), 'utf8')).toBe(`${link}\n`);
  for (const [env, why] of [
    [{}, 'there is no display'],
    [{ DISPLAY: ':0' }, 'xdg-open failed'],
    [{ DISPLAY: ':0', PATH: '' }, 'xdg-open is missing'],
  ] as const)
    expect(await open(env, 3)).toEqual({ code: 0, stdout: `${link}\n`, stderr: expect.stringContaining(why) });
});

test('replays keeps the embedded service running until Ctrl+C if it started it', async ({ env }, testInfo) => {
  const directory = dataDirectory(testInfo);
  let id = '';
  {
    await using service = await startService({ dataDirectory: directory });
    const call = callerOf(service);
    id = (await call('POST', '/browsers', {})).body.session_id;
    await call('POST', `/browsers/${id}/replays`, {});
    await call('DELETE', `/browsers/${id}`);
  }
  await using cli = new CliProcess(['replays', 'open', id, '--print', '--data-dir', directory], { env });
  await expect.poll(() => cli.output, { timeout: 30_000 }).toContain('Ctrl+C ends both');
  expect((await fetch(/http\S+/.exec(cli.output)![0])).status).toBe(200);
  await expectExit(cli, 'SIGINT', 0);
  await expectNoProcessWith(directory);
});

test('replays refuses unknown sessions and recordings', async ({ cli }) => {
  expectFailure(await cli('replays list none'), 1, 'none');
  for (const [ids, problem] of [
    [['none'], 'there is no session or recording none'],
    [['none', 'none'], 'there is no session none'],
  ] as const) {
    const stderr = `playwright-pool: ${problem}\n`;
    for (const command of ['open', 'download'])
      expect(await cli(`replays ${command} ${ids.join(' ')}`)).toMatchObject({ code: 1, stderr });
  }
});

test('replays opens the newest recording, and waits until its video is complete', async ({ answering, cli }) => {
  const replays = ['old', 'new'].map((replay_id) => ({ replay_id, replay_view_url: `http://${replay_id}` }));
  let downloads = 0;
  const env = await answering(({ url }, response) => {
    if (!url!.startsWith('/browsers/s/replays/')) {
      const found = url!.startsWith('/browsers/s/') ? replays : [];
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(found));
    }
    if (downloads++ === 0) return response.writeHead(202).end();
    return response.setHeader('content-type', 'video/webm').end('video');
  });
  expect((await cli('replays open s --print', { env })).stdout).toBe('http://new\n');
  expect((await cli('replays open s old --print', { env })).stdout).toBe('http://old\n');
  const none = 'playwright-pool: the session empty has no recordings\n';
  expect((await cli('replays open empty', { env })).stderr).toBe(none);
  expect((await cli('replays download s new', { env })).stdout).toBe(`Wrote ${outputPath('new.webm')} (5 B).\n`);
  expect(downloads).toBe(2);
});
