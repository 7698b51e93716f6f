import { expect, mergeTests } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import {
  endSession,
  everywhere,
  keptIn,
  logIn,
  profileSaveOf,
  startSession,
  test as withSite,
} from '../../support/service/profiles.ts';
import { callerOf, dataDirectory, type Call } from '../../support/service/service.ts';
import { test as shared } from '../../support/service/shared-service.ts';

type Started = Awaited<ReturnType<typeof startSession>>;

/** Tests with the service that all tests of a worker share. */
export const test = mergeTests(shared, withSite).extend<{ ann: Ann }>({
  ann: async ({ call, site }, use) => use(new Ann(call, site)),
});

/** Tests with a service of their own on a data directory. */
export const testOnDisk = withSite.extend<{ directory: string; ann: Ann }>({
  directory: async ({}, use, testInfo) => use(dataDirectory(testInfo)),
  service: async ({ directory }, use) => {
    await using service = await startService({ dataDirectory: directory });
    await use({ ...service, call: callerOf(service) });
  },
  ann: async ({ call, site }, use) => use(new Ann(call, site)),
});

/** The profile `ann` of a service, and the site that stores values in its sessions. */
export class Ann {
  readonly #call: Call;
  readonly #site: string;

  constructor(call: Call, site: string) {
    this.#call = call;
    this.#site = site;
  }

  /** Creates the profile. */
  async create(): Promise<{ id: string; updated_at: string; size_bytes?: number }> {
    return (await this.#call('POST', '/profiles', { name: 'ann' })).body;
  }

  /** Creates the profile with the values that the site stores for a login. */
  async createWith(login: string): Promise<void> {
    await this.create();
    await this.save(login);
  }

  /** Lets the site store a login in the profile. */
  async save(login: string): Promise<void> {
    const session = await this.start();
    await this.logIn(session, login);
    expect(await this.end(session)).toEqual({ status: 'saved' });
  }

  /** Starts a session that saves the profile at its end. */
  async start(more: object = {}): Promise<Started> {
    return await startSession(this.#call, { profile: { name: 'ann', save_changes: true }, ...more });
  }

  /** Starts a session with a copy of the profile. */
  async startCopy(): Promise<Started> {
    return await startSession(this.#call, { profile: { name: 'ann' } });
  }

  async logIn(session: Started, login: string): Promise<void> {
    await logIn(session, this.#site, login);
  }

  /** Ends a session and returns the result of saving the profile. */
  async end(session: Started): Promise<unknown> {
    return await endSession(this.#call, session);
  }

  /** The result of saving the profile of an ended session. */
  async saveOf(session: Started): Promise<unknown> {
    return await profileSaveOf(this.#call, session);
  }

  /** Expects that the site finds the values of a login in the session, or in a new one with a copy of the profile. */
  async expectLogin(login: string, session?: Started): Promise<void> {
    expect(await keptIn(session ?? (await this.startCopy()), this.#site)).toEqual(everywhere(login));
  }
}
