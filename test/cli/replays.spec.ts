import { readFile } from 'node:fs/promises';
import { expect, test } from './commands.ts';

test('a recording is listed, downloaded and shown by its link', async ({ cli, service }, testInfo) => {
  const { body: session } = await service.call('POST', '/browsers', {});
  const { session_id: id } = session;
  expect(await cli(['replays', 'list', id])).toMatchObject({ code: 0, stdout: 'There are no recordings of this session.\n' });
  const { body: replay } = await service.call('POST', `/browsers/${id}/replays`, {});
  expect((await cli(['replays', 'list', id])).stdout).toMatch(
    new RegExp(`^ID +STARTED +FINISHED +ERROR\\n${replay.replay_id} +\\S+ +recording`),
  );
  await service.call('POST', `/browsers/${id}/replays/${replay.replay_id}/stop`);
  await service.call('DELETE', `/browsers/${id}`);

  const file = testInfo.outputPath('failure.mp4');
  expect(await cli(['replays', 'download', id, replay.replay_id, '-o', file])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Wrote .*failure\.mp4 \(/),
  });
  const video = await readFile(file);
  expect(video.length).toBeGreaterThan(0);
  const listed = await cli(['replays', 'list', id, '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ replay_id: replay.replay_id }]);
  expect(listed.stdout).not.toContain('replay_view_url');
  expect((await cli(['replays', 'open', id, '--print'])).stdout).toBe(`${replay.replay_view_url}\n`);
  expect(await cli(['replays', 'open', id, 'none', '--print'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no recording none'),
  });
});

test('a recording of an unknown session or id is an error', async ({ cli }) => {
  expect(await cli(['replays', 'list', 'none'])).toMatchObject({ code: 1, stderr: expect.stringContaining('none') });
  expect(await cli(['replays', 'download', 'none', 'none'])).toMatchObject({ code: 1 });
});
