import { createClient, type Client } from '../../client/index.ts';
import type { BrowserSession } from '../../contract/browsers.ts';
import type { OfferedEngine } from '../../contract/organization.ts';
import { systemClock, type Clock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import { isMissing } from './machine-errors.ts';
import type { Host } from './host.ts';
import type { MachineSession } from './machine-session.ts';
import { onlyChromium } from './offered.ts';
import { isOwnedBy, launchOf, ownerTags, profileName } from './owner-tags.ts';

/** A service beyond the machines, which may be the hosted one. Its browsers start only while a caller waits for them. */
export type Overflow = {
  url: string;
  apiKey: string;
  /** Default: the limit of that service. */
  maxSessions?: number;
};

export type MachineOptions = {
  url: string;
  apiKey: string;
  /** The id of the control plane. */
  owner: string;
  isDirect: boolean;
  /** Default: this is a machine. */
  overflow?: Overflow | undefined;
  log: Log;
  /** Called when the machine stops answering, answers again, has more free slots, or drains. */
  onChange: (machine: Machine) => void;
  /** Default: the system clock. If a test moves its own clock forward, machines count as lost. */
  clock?: Clock;
};

/** The time between two checks, in ms. It varies by a fifth, so that many machines don't answer at the same moment. */
const checkEveryMs = 2000;
/** The time limit for an answer to a check, in ms. */
const answerMs = 3000;
/** The machine's sessions count as lost after this time without an answer, in ms, and this many failed checks. */
const lostMs = 15_000;
const leastFailures = 3;

/**
 * A service that runs sessions for this control plane. Checks regularly that the machine answers, and that both know the
 * same sessions.
 */
export class Machine implements Host {
  readonly url: string;
  readonly apiKey: string;
  readonly client: Client;
  readonly owner: string;
  readonly isDirect: boolean;
  readonly sessions = new Map<string, MachineSession>();
  /** The ids of the launches that are running. */
  readonly launches = new Set<string>();
  readonly loads = new Set<string>();
  /** False if discovery no longer finds the machine. Then it gets no new sessions. */
  isListed = true;
  readonly #options: MachineOptions;
  readonly #clock: Clock;
  /** Whether the machine has answered since this control plane started, and since its sessions were lost. */
  #isKnown = false;
  #isUp = false;
  #isDraining = false;
  #capacity = 0;
  #engines: OfferedEngine[] | undefined;
  #answeredAt: number;
  #failures = 0;
  #checking: Promise<void> | undefined;
  #cancelCheck = () => {};
  #isClosed = false;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#answeredAt = this.#clock.now();
    this.url = options.url;
    this.apiKey = options.apiKey;
    this.owner = options.owner;
    this.isDirect = options.isDirect;
    this.client = createClient({
      baseURL: options.url,
      apiKey: options.apiKey,
      userAgent: 'playwright-pool-control-plane',
    });
    void this.check();
  }

  get isOverflow(): boolean {
    return this.#options.overflow !== undefined;
  }

  /** Whether the machine answered the last request. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether sessions on the machine should end as soon as nobody leases them. */
  get isLeaving(): boolean {
    return this.#isDraining || !this.isListed;
  }

  /** Whether the control plane can forget the machine: it doesn't answer and has no sessions. */
  get isForgotten(): boolean {
    return !this.#isUp && this.sessions.size === 0 && this.launches.size === 0;
  }

  /** The machine's slots; 0 while it takes no new sessions. */
  get capacity(): number {
    return this.#isUp && !this.isLeaving ? this.#capacity : 0;
  }

  /** The machine's slots when it last answered. */
  get slots(): number {
    return this.#capacity;
  }

  /** Its browsers when it last answered. `undefined`: it has never answered. */
  get engines(): readonly OfferedEngine[] | undefined {
    return this.#engines;
  }

  /** The time since the machine's last answer, in ms. */
  get silentMs(): number {
    return Math.max(0, this.#clock.now() - this.#answeredAt);
  }

  get freeSlots(): number {
    return Math.max(0, this.capacity - this.sessions.size - this.launches.size);
  }

  suspect(): void {
    this.#isUp = false;
    void this.check();
  }

  /** Call when the machine says that it drains. */
  drains(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.log('machine_draining', { machine: this.url });
    this.#options.onChange(this);
  }

  /** Asks the machine for its sessions now. Never rejects. */
  async check(): Promise<void> {
    this.#cancelCheck();
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
      if (!this.#isClosed)
        this.#cancelCheck = this.#clock.after(checkEveryMs * (0.8 + 0.4 * Math.random()), () => void this.check());
    });
    await this.#checking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelCheck();
    await this.client.close();
  }

  async #check(): Promise<void> {
    const [before, engines] = [this.freeSlots, JSON.stringify(this.#engines)];
    let wasUp = this.#isUp;
    try {
      const known = [...this.sessions.values()].filter(({ alive }) => alive);
      await this.#readCapacity();
      await this.#reconcile(known, await this.#list());
      if (!this.#isKnown) await this.#removeLeftProfiles();
      this.#isKnown = true;
      this.#failures = 0;
      this.#answeredAt = this.#clock.now();
      // A call may have failed during the check: pools then wait to hear that the machine is back.
      wasUp &&= this.#isUp;
      this.#isUp = true;
      if (!wasUp) this.#options.log('machine_up', { machine: this.url, slots: this.#capacity });
    } catch (error) {
      if (this.#isClosed) return;
      if (this.#failures === 0) this.#options.log('machine_silent', { machine: this.url, message: String(error) });
      this.#isUp = false;
      this.#failures += 1;
      if (this.silentMs >= lostMs && this.#failures >= leastFailures) this.#lose();
    }
    const hasOthers = JSON.stringify(this.#engines) !== engines;
    if (this.#isUp !== wasUp || this.freeSlots > before || hasOthers) this.#options.onChange(this);
  }

  async #readCapacity(): Promise<void> {
    const limits = await this.client.organization.limits.retrieve({ timeout: answerMs, maxRetries: 0 });
    const { maxSessions = Infinity } = this.#options.overflow ?? {};
    this.#capacity = Math.min(maxSessions, limits.max_concurrent_sessions);
    this.#engines = limits.engines ?? onlyChromium;
    if (limits.draining) this.drains();
    else this.#isDraining = false;
  }

  async #list(): Promise<Map<string, BrowserSession>> {
    const listed = new Map<string, BrowserSession>();
    const query = { tags: ownerTags(this.owner), limit: 100 };
    const all = this.client.browsers.list(query, { timeout: answerMs, maxRetries: 0 });
    // Checked again: another kind of service may not filter by tags, and unknown sessions are ended.
    for await (const browser of all) if (isOwnedBy(this.owner, browser.tags)) listed.set(browser.session_id, browser);
    return listed;
  }

  /**
   * Ends sessions that only one side knows. `known` are the control plane's sessions before it asked the machine for
   * `listed`.
   */
  async #reconcile(known: MachineSession[], listed: Map<string, BrowserSession>): Promise<void> {
    for (const session of known) {
      const browser = listed.get(session.id);
      if (browser) session.seen(browser, 2 * checkEveryMs);
      else if (session.alive) await this.#look(session);
    }
    const unknown = [...listed.values()].filter(
      ({ session_id: id, tags }) => !this.sessions.has(id) && !this.launches.has(launchOf(tags) ?? ''),
    );
    for (const { session_id: id } of unknown) void this.client.browsers.deleteByID(id).catch(() => {});
  }

  /**
   * Looks up a session that is missing in the machine's list. It may still run: a session can slip through between two
   * pages of the list.
   */
  async #look(session: MachineSession): Promise<void> {
    try {
      const browser = await this.client.browsers.retrieve(
        session.id,
        { include_deleted: true },
        { timeout: answerMs, maxRetries: 0 },
      );
      if (browser.deleted_at === undefined || !session.alive) return;
      const { pool } = session.lease;
      if (browser.end_reason === 'client_left')
        this.#options.log('lease_ended', { session: session.id, pool: pool?.name ?? pool?.id });
      void session.endedOnMachine(browser);
    } catch (error) {
      if (!isMissing(error)) throw error;
      session.lose();
    }
  }

  /** Deletes the profiles that a killed control plane and lost sessions left on the machine. */
  async #removeLeftProfiles(): Promise<void> {
    const query = profileName(this.owner, '');
    for await (const { id, name } of this.client.profiles.list({ query }))
      if (name?.startsWith(query) && !this.#isUsed(name)) await this.client.profiles.delete(id).catch(() => {});
  }

  #isUsed(profile: string): boolean {
    for (const { sent } of this.sessions.values()) if (sent?.record.name === profile) return true;
    for (const launch of this.launches) if (profileName(this.owner, launch) === profile) return true;
    return this.loads.has(profile);
  }

  #lose(): void {
    this.#isKnown = false;
    const lost = [...this.sessions.values()].filter(({ alive }) => alive);
    if (lost.length > 0) this.#options.log('machine_lost', { machine: this.url, sessions: lost.length });
    for (const session of lost) session.lose();
  }
}
