import { expect } from '@playwright/test';
import type { AuthConnection } from '../../../src/contract/auth-connections.ts';
import type { AuthConnectionEvent } from '../../../src/contract/login-flow.ts';
import { TestClock } from '../service/clock.ts';
import { openStream, type ReadStream } from '../http/event-streams.ts';
import { LoginSite } from './login-site.ts';
import { test as base, type Call, type TestService } from '../service/service.ts';

export type State = Extract<AuthConnectionEvent, { event: 'managed_auth_state' }>;

/** A service with its organization's key, or with another one. */
type Caller = Pick<TestService, 'url' | 'apiKey' | 'call'>;

/** How long Chromium may take to start and a page to load, where many tests run at once. In ms. */
const patience = { timeout: 30_000 };

/** A connection as a test uses it. */
export class Logins {
  readonly id: string;
  readonly path: string;
  readonly #service: Caller;
  readonly #call: Call;

  constructor(service: Caller, id: string) {
    this.id = id;
    this.path = `/auth/connections/${id}`;
    this.#service = service;
    this.#call = service.call;
  }

  static async create(service: Caller, fields: object): Promise<Logins> {
    const { status, body } = await service.call('POST', '/auth/connections', fields);
    expect(status, JSON.stringify(body)).toBe(201);
    return new Logins(service, body.id);
  }

  async get(): Promise<AuthConnection> {
    return (await this.#call('GET', this.path)).body;
  }

  /** Starts a login, and follows it. */
  async login(body: object = {}): Promise<{ hostedUrl: string; stream: ReadStream<State> }> {
    const answer = await this.#call('POST', `${this.path}/login`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return { hostedUrl: answer.body.hosted_url, stream: await this.follow() };
  }

  async follow(): Promise<ReadStream<State>> {
    return await openStream<State>(this.#service, `${this.path}/events`);
  }

  async submit(body: object): Promise<void> {
    const answer = await this.#call('POST', `${this.path}/submit`, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 202, body: { accepted: true } });
  }

  /** Logs in as carol with this password to the end, and returns the last state. */
  async answered(password: string, stream?: ReadStream<State>): Promise<State> {
    const asking = stream ?? (await this.login()).stream;
    await atStep(asking, 'AWAITING_INPUT');
    await this.submit({ field_values: { username: 'carol', password } });
    return await ended(asking);
  }

  async timeline(query = ''): Promise<{ type: string; status: string; [field: string]: unknown }[]> {
    return (await this.#call('GET', `${this.path}/timeline${query}`)).body;
  }

  async expectStatus(status: AuthConnection['status']): Promise<void> {
    await expect.poll(async () => (await this.get()).status, patience).toBe(status);
  }
}

/** Waits until the login is at a step, and returns its state. */
export async function atStep({ events }: ReadStream<State>, step: State['flow_step']): Promise<State> {
  await expect.poll(() => events.at(-1)?.flow_step, patience).toBe(step);
  return events.at(-1)!;
}

/** Waits until the login has ended, and returns its last state. */
export async function ended(stream: ReadStream<State>): Promise<State> {
  await expect.poll(() => stream.events.at(-1)?.flow_status, patience).not.toBe('IN_PROGRESS');
  await stream.ended;
  return stream.events.at(-1)!;
}

/** Service and site: the service's clock stands still until it is moved. */
export const test = base.extend<{ clock: TestClock; site: LoginSite; carol: Logins }>({
  clock: async ({}, use) => use(new TestClock()),
  serviceOptions: async ({ clock }, use) => use({ clock }),
  site: async ({}, use) => {
    using site = await LoginSite.start();
    await use(site);
  },
  carol: async ({ service, site }, use) => use(await Logins.create(service, carolAt(site.domain))),
});

/** A connection of the profile carol to a `LoginSite`. */
export function carolAt(domain: string, more: object = {}) {
  return { profile_name: 'carol', domain, login_url: `http://${domain}/login`, ...more };
}
