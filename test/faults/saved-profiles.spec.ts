import { endSavingSession, startSavingSession } from '../../fixtures/lease/saving-session.ts';
import { createClient } from '../../src/client/index.ts';
import type { HostedService } from '../support/runs/fault-runs.ts';
import { expect, test } from './suite-runs.ts';

// Faults of the calls that start and end a session that saves its profile.

const profile = { name: 'carol', save: true };
const use = `poolProfile: { name: 'carol', save: true }`;

test("a session ends with a reason if its profile can't be chosen", async ({ hosted, faultProxy }, testInfo) => {
  const { apiKey } = hosted;
  await using client = createClient({ baseURL: faultProxy.url, apiKey });
  const { signal } = new AbortController();
  const started = { client, profile, headless: true, launch: {}, tags: undefined, tunnel: false, signal };
  const { session_id } = await startSavingSession(started);
  faultProxy.plan(/^PATCH /, { status: 501, retryAfter: 0 });
  const ending = endSavingSession(client, session_id, profile, [testInfo]);
  await expect(ending).rejects.toThrow(/^The profile "carol" was not saved: 501/);
  expect(await sessionsOf(hosted)).toEqual([]);
});

test('a failed test saves no profile although the answer to the start of its session was lost @long', async ({
  runSuite,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^POST .*\/browsers$/, 'unanswered');
  const { stats, output } = await runSuite('fails', faultProxy.url, { more: use });
  expect(stats, output).toMatchObject({ passed: 0, failed: 1 });
  expect(faultProxy.happened).toEqual(['unanswered: POST /browsers']);
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
  expect(await hosted.client.profiles.download('carol')).toBeUndefined();
});

test('a test gets another session if one breaks that could not be ended, and the reaper ends it @long', async ({
  runSuite,
  hosted,
  faultProxy,
}) => {
  faultProxy.plan(/^GET .*\/cdp/, 'refused');
  faultProxy.plan(/^DELETE .*\/browsers\//, { status: 501, retryAfter: 0 });
  const { stats, output } = await runSuite('works', faultProxy.url, { more: use });
  expect(stats, output).toMatchObject({ passed: 1, failed: 0 });
  expect(faultProxy.happened).toHaveLength(2);
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
  await expect.poll(() => sessionsOf(hosted)).toEqual([]);
});

async function sessionsOf({ client }: HostedService): Promise<string[]> {
  const ids: string[] = [];
  for await (const { session_id } of client.browsers.list()) ids.push(session_id);
  return ids;
}
