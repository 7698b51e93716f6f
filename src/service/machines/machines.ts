import { OperationError } from '../../contract/errors.ts';
import type { Engine } from '../../contract/values.ts';
import { systemClock, type Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import type { Log } from '../process/log.ts';
import type { ProfileDirectories } from '../profiles/profile-directories.ts';
import { minorOf } from '../playwright/installed-playwright.ts';
import { placeNeeds, type Launcher, type PlaceNeeds } from '../sessions/launcher.ts';
import type { OtherEngine } from '../sessions/launch.ts';
import type { Session, SessionSettings } from '../sessions/session.ts';
import type { Recorded, Recording } from '../replays/replays.ts';
import { MachineReplay } from './machine-replay.ts';
import { Discovery } from './discovery.ts';
import { linksOf, startOn, type StoredArchives } from './launch.ts';
import { Machine, type Overflow } from './machine.ts';
import { isRefusal, toOperationError } from './machine-errors.ts';
import { MachineEngineSession } from './machine-engine-session.ts';
import { MachineSession, type MachineSessionOptions } from './machine-session.ts';
import { joined, lackOf, offers } from './offered.ts';
import { SentProfile } from './sent-profile.ts';
import type { MachineSessionRecords } from './sessions-table.ts';

export type MachinesOptions = {
  /** The id of the control plane. */
  owner: string;
  apiKey: string;
  isDirect: boolean;
  overflow: Overflow | undefined;
  profiles: ProfileDirectories;
  extensions: StoredArchives;
  records: MachineSessionRecords;
  clock: Clock;
  log: Log;
};

/** A starting browser needs half a core, and machines have two cores or more. */
const launchesPerMachine = 4;

/**
 * The machines of a control plane. Starts each session on the machine with the most free slots, and on the service for
 * overflow if no machine has one.
 */
export class Machines implements Launcher<MachineSession> {
  readonly hasDisplay = false;
  readonly noDisplay =
    'a control plane starts headless browsers only: request a headless browser, or lease from a service on a desktop';
  /** The sessions that an earlier control plane of this data directory started. */
  adopted: readonly MachineSession[] = [];
  readonly #options: MachinesOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #onRoom: (() => void)[] = [];
  /** The engines that a machine had once, also with versions of Playwright. It may come back. */
  readonly #seen = new Set<string>();
  #discovery: Discovery | undefined;

  constructor(options: MachinesOptions) {
    this.#options = options;
  }

  /** How many machines answer, and how many of those drain. */
  get counts(): { count: number; draining: number } {
    const up = this.#ordinary().filter(({ isUp }) => isUp);
    return { count: up.length, draining: up.filter(({ isLeaving }) => isLeaving).length };
  }

  readonly offered = {
    latest: () => joined(this.#ordinary()),
    read: async () => joined(this.#ordinary()),
  };

  /** The versions of Playwright of the machines that tell them. */
  get playwrightVersions(): string[] {
    return [...new Set(this.offered.latest().flatMap(({ playwright_versions: versions }) => versions))];
  }

  /** The slots of the machines that take sessions with the engine, without those of the service for overflow. */
  capacityFor(engine?: Engine): number {
    const usable = this.#ordinary().filter((machine) => engine === undefined || offers(machine, engine));
    return usable.reduce((sum, machine) => sum + machine.capacity, 0);
  }

  get launchesAtOnce(): number {
    return launchesPerMachine * Math.max(1, this.#machines.size);
  }

  all(): Machine[] {
    return [...this.#machines.values()];
  }

  /** Finds the machines, and waits for their first answers. Throws if a source is malformed. */
  async open(sources: readonly string[]): Promise<void> {
    const onFound = (urls: string[]) => this.#found(urls);
    if (this.#options.overflow) this.#machine(this.#options.overflow.url);
    this.#discovery = new Discovery(sources, { onFound, clock: systemClock });
    await this.#discovery.find();
    await Promise.all(this.all().map((machine) => machine.check()));
  }

  /** Takes over the sessions that an earlier control plane started. Checks end those that are gone. */
  adopt(): void {
    const { records, profiles, log } = this.#options;
    this.adopted = records.all(log).map(({ id, machine: url, state }) => {
      const host = this.#machine(url);
      const sent = state.sent && new SentProfile(state.sent, { client: host.client, directories: profiles });
      const session = this.#session(host, { ...state, id, sent });
      const { name, tags, startUrl, pool, leasedAt, telemetry = session.lease.telemetry, asked } = state;
      Object.assign(session.lease, { name, tags, startUrl, pool, leasedAt, telemetry, launch: asked });
      const { timeoutSeconds, invocationId, isChanged = false, wasReused = false, launch } = state;
      Object.assign(session, { timeoutSeconds, invocationId, isChanged, wasReused, launch });
      // The client of a lease that ends with its connection was connected to the earlier control plane.
      if (state.endsWithSocket) log('lease_ended', { session: id, pool: pool?.name ?? pool?.id });
      if (state.isEnding || state.endsWithSocket) void session.end();
      return session;
    });
  }

  async start(settings: SessionSettings, signal: AbortSignal): Promise<MachineSession> {
    let refused: unknown;
    for (const machine of this.#placesFor(settings)) {
      const launch = newId();
      machine.launches.add(launch);
      try {
        const { browser, sent, profileVersion } = await startOn(machine, settings, {
          launch,
          profiles: this.#options.profiles,
          extensions: this.#options.extensions,
          signal,
        });
        const session = this.#session(machine, {
          id: browser.session_id,
          settings,
          links: linksOf(browser),
          playwrightVersions: browser.playwright_versions,
          sent,
          profileVersion,
        });
        session.record();
        return session;
      } catch (error) {
        signal.throwIfAborted();
        refused = toOperationError(error, machine.url);
        if (!isRefusal(error)) throw refused;
        if (isDrain(error)) machine.drains();
        else void machine.check();
      } finally {
        machine.launches.delete(launch);
      }
    }
    throw refused ?? this.refusal(settings.engine);
  }

  freeSlots(needs: PlaceNeeds): number {
    // A start that can't succeed says so. Otherwise, its caller would wait for a slot.
    if (this.#lack(needs.engine)) return Infinity;
    return this.#usable(needs)
      .filter((machine) => offers(machine, needs.engine))
      .reduce((sum, { freeSlots }) => sum + freeSlots, 0);
  }

  canReplace(session: MachineSession | undefined, engine: Engine): boolean {
    if (!session) return this.#ordinary().every((machine) => offers(machine, engine));
    const machine = this.#machines.get(session.host.url);
    return machine !== undefined && offers(machine, engine);
  }

  refusal(engine: Engine = 'chromium'): OperationError {
    const which = engine === 'chromium' ? '' : ` with ${engine}`;
    const message = `no machine${which} has a free slot for a browser: add machines, or end browsers`;
    return this.#lack(engine) ?? new OperationError('capacity_exhausted', message);
  }

  async checkEngine(engine: OtherEngine, playwright: string): Promise<void> {
    // An unknown version is refused for itself.
    const isKnown = this.playwrightVersions.some((version) => minorOf(version) === minorOf(playwright));
    const lack = this.#lack(engine, isKnown ? playwright : undefined);
    if (lack) throw lack;
  }

  async probe(): Promise<void> {
    if (!this.all().some(({ isUp }) => isUp))
      throw new OperationError('unavailable', 'no machine answers: check --machines and --machines-key');
  }

  onRoom(callback: () => void): void {
    this.#onRoom.push(callback);
  }

  /** Starts a recording on the session's machine. */
  async record(session: Session, recorded: Recorded): Promise<Recording> {
    return await MachineReplay.start(session as MachineSession, recorded, this.#options.clock);
  }

  /** Leaves all sessions running for the next control plane. */
  detach(): void {
    for (const { sessions } of this.all()) for (const session of sessions.values()) session.detach();
  }

  async close(): Promise<void> {
    this.#discovery?.close();
    await Promise.all(this.all().map((machine) => machine.close()));
  }

  #found(urls: string[]): void {
    for (const url of urls) this.#machine(url);
    for (const machine of this.#ordinary()) {
      machine.isListed = urls.includes(machine.url);
      if (!machine.isListed && machine.isForgotten) this.#forget(machine);
      else this.#changed(machine);
    }
  }

  #forget(machine: Machine): void {
    this.#machines.delete(machine.url);
    void machine.close();
  }

  #machine(url: string): Machine {
    const known = this.#machines.get(url);
    if (known) return known;
    const { owner, isDirect, log } = this.#options;
    const overflow = this.#options.overflow?.url === url ? this.#options.overflow : undefined;
    const { apiKey } = overflow ?? this.#options;
    const onChange = (changed: Machine) => this.#changed(changed);
    const machine = new Machine({ url, apiKey, owner, isDirect, overflow, log, onChange });
    this.#machines.set(url, machine);
    return machine;
  }

  #lack(engine: Engine, playwright?: string): OperationError | undefined {
    const isElsewhere = engine === 'chromium' && this.#options.overflow !== undefined;
    if (isElsewhere || this.#seen.has(seenName(engine, playwright))) return undefined;
    return lackOf(engine, this.#ordinary(), playwright);
  }

  #ordinary(): Machine[] {
    return this.all().filter(({ isOverflow }) => !isOverflow);
  }

  #usable({ canOverflow }: PlaceNeeds): Machine[] {
    return this.all().filter(({ isOverflow }) => canOverflow || !isOverflow);
  }

  /** The machines with the engine and free slots, and last the service for overflow if the session can run there. */
  #placesFor(settings: SessionSettings): Machine[] {
    const needs = placeNeeds(settings);
    return this.#usable(needs)
      .filter((machine) => machine.freeSlots > 0 && offers(machine, needs.engine))
      .toSorted((one, other) => Number(one.isOverflow) - Number(other.isOverflow) || other.freeSlots - one.freeSlots);
  }

  #session(
    host: Machine,
    options: Omit<MachineSessionOptions, 'host' | 'videoVersions' | 'clock' | 'profiles' | 'onChange'>,
  ) {
    const { clock, profiles, records } = this.#options;
    const onChange = (changed: MachineSession) => records.keep(changed);
    const Kind = options.settings.engine ? MachineEngineSession : MachineSession;
    const videoVersions = () => options.links.playwright_video_versions ?? [];
    const session = new Kind({ ...options, videoVersions, host, clock, profiles, onChange });
    host.sessions.set(session.id, session);
    void session.ended.then(() => host.sessions.delete(session.id));
    return session;
  }

  #changed(machine: Machine): void {
    for (const { engine, playwright_versions: versions } of machine.engines ?? [])
      for (const version of [undefined, ...versions]) this.#seen.add(seenName(engine, version));
    // End the idle browsers of pools: other machines replace them.
    if (machine.isLeaving)
      for (const session of machine.sessions.values())
        if (session.settings.poolId !== undefined && !session.lease.pool) void session.end();
    for (const callback of this.#onRoom) callback();
  }
}

function seenName(engine: Engine, playwright = ''): string {
  return `${engine} ${minorOf(playwright) ?? ''}`;
}

function isDrain(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'draining';
}
