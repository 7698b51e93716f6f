import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { randomOf } from '../../support/processes/random.ts';
import { callerOf, dataDirectory, type Call } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { expect, test } from '../../support/worker.ts';

const rounds = isLong ? 30 : 2;
const seed = Number(process.env['PLAYWRIGHT_POOL_TEST_SEED'] ?? (isLong ? Date.now() % 2 ** 31 : 1));

/** The state that the service has promised by its answers. */
class Promises {
  /** Profiles by id, with the names that they may have: a call that was not answered may have been done. */
  readonly profiles = new Map<string, (string | undefined)[]>();
  readonly deleted = new Set<string>();
  readonly poolTimeouts = new Map<string, number[]>();
  readonly saved = new Set<string>();
  #count = 0;

  name(): string {
    return `n${(this.#count += 1)}`;
  }

  /** Makes profiles, renames some and deletes some, until the service is killed. */
  async changeProfiles(call: Call, random: (below: number) => number): Promise<void> {
    for (;;) {
      const name = this.name();
      const { status, body } = await call('POST', '/profiles', { name });
      expect(status).toBe(201);
      this.profiles.set(body.id, [name]);
      const changed = [...this.profiles.keys()][random(this.profiles.size)]!;
      const fate = random(5);
      if (fate < 2) {
        const renamed = this.name();
        this.profiles.get(changed)!.push(renamed);
        await call('PATCH', `/profiles/${changed}`, { name: renamed });
        this.profiles.set(changed, [renamed]);
      } else if (fate === 2) {
        const names = this.profiles.get(changed)!;
        this.profiles.set(changed, [...names, undefined]);
        await call('DELETE', `/profiles/${changed}`);
        this.profiles.delete(changed);
        this.deleted.add(changed);
      }
    }
  }

  /** Changes the settings of a pool. */
  async changePool(call: Call, id: string, random: (below: number) => number): Promise<void> {
    for (;;) {
      const timeout_seconds = 10 + random(1000);
      this.poolTimeouts.get(id)!.push(timeout_seconds);
      await call('PATCH', `/browser_pools/${id}`, { timeout_seconds });
      this.poolTimeouts.set(id, [timeout_seconds]);
    }
  }

  /** Saves a profile again and again, and leaves files and recordings half written. */
  async saveProfile(call: Call, name: string): Promise<void> {
    for (;;) {
      const { body: session } = await call('POST', '/browsers', { profile: { name, save_changes: true } });
      const path = `/browsers/${session.session_id}`;
      await Promise.all([
        call('PUT', `${path}/fs/write_file?path=/tmp/a`, new Uint8Array(3_000_000)),
        call('POST', `${path}/replays`, {}),
      ]);
      if ((await call('DELETE', path)).status === 204) this.saved.add(name);
    }
  }

  async check(call: Call, directory: string): Promise<void> {
    for (const [id, names] of this.profiles) {
      const { status, body } = await call('GET', `/profiles/${id}`);
      expect(names, id).toContain(status === 404 ? undefined : body.name);
      if (status === 404) this.profiles.delete(id);
      else this.profiles.set(id, [body.name]);
    }
    for (const id of this.deleted) expect((await call('GET', `/profiles/${id}`)).status).toBe(404);
    for (const [id, timeouts] of this.poolTimeouts) {
      const { timeout_seconds } = (await call('GET', `/browser_pools/${id}`)).body.browser_pool_config;
      expect(timeouts).toContain(timeout_seconds);
      this.poolTimeouts.set(id, [timeout_seconds]);
    }
    for (const name of this.saved)
      expect((await call('GET', `/profiles/${name}/download?format=tar`)).status).toBe(200);
    expect(readdirSync(directory).filter((file) => file.endsWith('.tmp'))).toEqual([]);
    expect(readdirSync(join(directory, 'profiles')).length).toBeLessThanOrEqual(1);
  }
}

test(`after a kill at any moment, in ${rounds} rounds, the next service has all confirmed data and nothing half done @long`, async ({}, testInfo) => {
  test.setTimeout(60_000 + rounds * 20_000);
  console.log(`${rounds} rounds with the seed ${seed}`);
  const random = randomOf(seed);
  const directory = dataDirectory(testInfo);
  const promises = new Promises();
  for (let round = 0; round <= rounds; round += 1) {
    await using cli = new CliProcess(['serve', '--data-dir', directory], { env: { PLAYWRIGHT_POOL_API_KEY: 'key' } });
    const url = (await cli.firstLine()).replace(/^listening on /, '');
    const call = callerOf({ url, apiKey: 'key' });
    if (round === 0) {
      await call('POST', '/profiles', { name: 'saved' });
      const { body: pool } = await call('POST', '/browser_pools', { size: 1, name: 'ci' });
      promises.poolTimeouts.set(pool.id, [pool.browser_pool_config.timeout_seconds]);
    }
    await promises.check(call, directory);
    if (round === rounds) break;
    const [pool] = promises.poolTimeouts.keys();
    const failures = Promise.allSettled([
      promises.changeProfiles(call, random),
      promises.changePool(call, pool!, random),
      promises.saveProfile(call, 'saved'),
    ]);
    await sleep(300 + random(1500));
    cli.child.kill('SIGKILL');
    // Any other failure has nothing to do with the end of the service.
    for (const failure of await failures)
      expect(String((failure as PromiseRejectedResult).reason)).toMatch(/fetch failed|terminated|other side closed/);
    await cli.exited;
  }
  await expectNoProcessWith(directory);
});
