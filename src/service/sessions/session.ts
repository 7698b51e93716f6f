import type { BrowserSession, ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { TelemetryCategory } from '../../contract/telemetry.ts';
import { windowSizeIn } from '../chromium/client-switches.ts';
import type { CdpConnection } from '../chromium/cdp/cdp-connection.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { Clock } from '../process/clock.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { isSameLaunch, type Launch, type OtherEngine } from './launch.ts';
import { Lease, type EarlierTokens, type LeaseTerms } from './lease.ts';
import { SessionProfile } from './session-profile.ts';

/** How often a session in use is touched, in ms. Shorter than the shortest idle timeout. */
const touchIntervalMs = 4000;

/** How long the caller of a pool waits for the start page at most, in ms. */
const startPageMs = 1000;

/** Settings of a session's browser, and its project. */
export type SessionSettings = {
  projectId: string;
  /** Default: chromium. */
  engine?: OtherEngine;
  headless: boolean;
  stealth: boolean;
  kioskMode: boolean;
  /** The idle timeout, in seconds. */
  timeoutSeconds: number;
  viewport: { width: number; height: number; refresh_rate?: number };
  profile?: Profile;
  /** Whether the profile is saved when the session ends. */
  saveChanges?: boolean;
  proxy?: ProxyAccess | undefined;
  /** The stored extensions that the browser starts with. */
  extensions?: readonly StoredExtension[];
  /** Whether the default context can use a tunnel. All of its requests then pass through a local proxy. */
  tunnel?: boolean;
  startUrl?: string;
  /** Switches that the caller added for Chromium. */
  extraSwitches?: readonly string[];
  /** Playwright's name of the browser to start. Default: the service's own choice. */
  channel?: string;
  /** The telemetry that is captured from the beginning of each lease. */
  telemetry?: readonly TelemetryCategory[];
  /** The pool that started the browser. Other browsers are single sessions. */
  poolId?: string;
};

/** A stored extension. */
export type StoredExtension = { id: string; name?: string | undefined };

/** The URLs of a session, and the versions of Playwright that record its videos. */
export const linkNames = [
  'cdp_ws_url',
  'playwright_ws_url',
  'playwright_video_versions',
  'base_url',
  'tunnel_ws_url',
  'browser_live_view_url',
  'read_only_live_view_url',
] as const;
export type Links = Pick<BrowserSession, (typeof linkNames)[number]>;
/** The URL of a session's machine, and the machine's own URLs of the session if clients may use them. */
export type Place = { machine: string; links: Links | undefined };

/** An open CDP connection. Call `close` when it isn't needed any more. */
export type OpenCdp = { cdp: CdpConnection; close: () => void };

/** A browser session, wherever its browser runs: its lease, its URLs and its end. */
export abstract class Session {
  readonly id: string;
  /** In ms since the epoch. */
  readonly createdAt: number;
  readonly settings: SessionSettings;
  /** Resolves when the browser has ended and the session's files are removed. */
  abstract readonly ended: Promise<void>;
  /** The idle timeout, in seconds. It counts while the session is leased. */
  timeoutSeconds: number;
  /** The session ends with this invocation. */
  invocationId: string | undefined;
  /** Whether a caller changed the browser so much that no other lease may get it. */
  isChanged = false;
  /** Whether an earlier lease used the browser. It may have changed cookies and storage. */
  wasReused = false;
  /** Whether it runs on for the next control plane, which ends its lease. */
  isDetached = false;
  /** The reason if the session ended by itself. */
  endReason: BrowserSession['end_reason'];
  /** The launch options with which the browser runs now, beside its settings. A reused browser keeps those of its last lease. */
  launch: Launch | undefined;
  /** Those of `playwrightVersions` that record videos. */
  readonly videoVersions: () => readonly string[];

  readonly #end = new AbortController();
  /** Aborts when the session begins to end. */
  readonly ending: AbortSignal = this.#end.signal;
  readonly #profile: SessionProfile;
  readonly #clock: Clock;
  readonly #playwrightVersions: readonly string[];
  readonly #idleTimeout: IdleTimeout;
  #lease: Lease;
  #endedAt: number | undefined;

  constructor(options: {
    id: string;
    settings: SessionSettings;
    /** Default: none. */
    profile?: SessionProfile;
    /** Default: none. */
    playwrightVersions?: readonly string[] | undefined;
    videoVersions?: () => readonly string[];
    /** Default: a session that starts now. */
    earlier?: ({ createdAt: number } & EarlierTokens) | undefined;
    clock: Clock;
  }) {
    const { id, settings, clock } = options;
    this.id = id;
    this.settings = settings;
    this.#profile = options.profile ?? new SessionProfile();
    this.#playwrightVersions = options.playwrightVersions ?? [];
    this.videoVersions = options.videoVersions ?? (() => []);
    this.timeoutSeconds = settings.timeoutSeconds;
    this.#lease = new Lease(id, settings.telemetry, options.earlier);
    this.#lease.startUrl = settings.startUrl;
    this.createdAt = options.earlier?.createdAt ?? clock.now();
    this.#clock = clock;
    this.#idleTimeout = new IdleTimeout(clock, () => {
      this.endReason = 'idle_timeout';
      void this.end();
    });
  }

  /** The current lease, or the last one after the session's end. */
  get lease(): Lease {
    return this.#lease;
  }

  /** The versions of Playwright whose protocol clients may speak. */
  get playwrightVersions(): readonly string[] {
    return this.#playwrightVersions;
  }

  /** When it ended, in ms since the epoch. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  /** False from the moment the session begins to end. */
  get alive(): boolean {
    return this.#endedAt === undefined;
  }

  /** The time since the last use, in ms. */
  get idleMs(): number {
    return this.#idleTimeout.idleMs;
  }

  /** The machine of the browser. `undefined`: this machine. */
  get place(): Place | undefined {
    return undefined;
  }

  /** Whether its client can expose apps to its pages. Some services for overflow have no tunnel. */
  get hasTunnel(): boolean {
    return true;
  }

  /** Whether it can be leased now. False while its machine doesn't answer. */
  get isReachable(): boolean {
    return true;
  }

  /** Whether it can be leased again after this lease. */
  get isWorthKeeping(): boolean {
    return this.alive && !this.isChanged;
  }

  /** The profile of the session, from its start or loaded later. */
  get profile(): Profile | undefined {
    return this.#profile.loaded;
  }

  /** The version of the profile that the session copied. `undefined` if the profile was empty. */
  get profileVersion(): string | undefined {
    return this.#profile.version;
  }

  /** The result of saving the profile, after the session's end. */
  get profileSave(): ProfileSave | undefined {
    return this.alive ? undefined : this.#profile.save;
  }

  /** How many downloads exceeded the quota. */
  abstract get canceledDownloads(): number;

  /** Rejects if the browser doesn't answer within 2 s. */
  abstract ping(): Promise<void>;

  /** Checks that a session that was just leased still runs. Rejects if it doesn't. */
  async confirm(): Promise<void> {}

  /** Changes the tags of a session in use. */
  retag(tags: Record<string, string> | undefined): void {
    this.#lease.retag(tags);
  }

  /** Leases the browser of a pool. `timeoutSeconds` is the idle timeout. */
  lend(terms: LeaseTerms & { pool: Lease['pool']; timeoutSeconds: number }): void {
    const { timeoutSeconds, startUrl = this.#lease.startUrl, ...rest } = terms;
    Object.assign(this.#lease, rest, { startUrl, leasedAt: this.#clock.now() });
    this.timeoutSeconds = timeoutSeconds;
    this.watchIdle(timeoutSeconds);
    this.record();
  }

  /** Ends the lease of a pool's browser, and removes its traces, for which `confirm` waits. */
  takeBack(): void {
    this.watchIdle(undefined);
    this.changeHands({ wipe: true });
    this.record();
  }

  /** Stores the session's name, tags and lease. Needed only if sessions outlive this service. */
  record(): void {}

  /** Ends the browser, saves the profile if requested, and removes the session's files. */
  abstract end(): Promise<void>;

  /** Ends the session without saving the profile. */
  async discard(): Promise<void> {
    this.#profile.isSaved = false;
    await this.end();
  }

  /** Waits until an ending session has saved its profile. Throws the error if saving failed. */
  async saved(): Promise<void> {
    if (this.alive || !this.#profile.unsaved) return;
    await this.ended;
    if (this.#profile.failure) throw this.#profile.failure;
  }

  /** Opens a page in the default context. */
  abstract openPage(url: string): Promise<void>;

  /** Opens a page, and waits for it up to 1 s. Ignores errors. */
  async openStartPage(url: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(startPageMs, resolve);
      const proceed = () => {
        cancel();
        resolve();
      };
      this.openPage(url).then(proceed, proceed);
    });
  }

  /** Opens a CDP connection for the service itself. It closes with the session. */
  abstract openCdp(): Promise<OpenCdp>;

  /** Changes the telemetry of this lease. Rejects if the browser or its machine doesn't answer. */
  abstract capture(categories: readonly TelemetryCategory[]): Promise<void>;

  /** Sets whether the session's end saves its profile. Returns false if the session doesn't use this profile. */
  saveProfileAtEnd(profileId: string, isSaved: boolean): boolean {
    // The browsers of a pool never save the pool's profile.
    if (this.settings.poolId !== undefined && this.settings.profile) return false;
    if (this.#profile.loaded?.id !== profileId || !this.#profile.copy) return false;
    this.#profile.decide(isSaved);
    this.record();
    return true;
  }

  /** Restarts the browser on a copy of a profile. Its pages are closed. Throws `conflict` if it is in use. */
  abstract loadProfile(profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void>;

  /**
   * Sends the browser's requests through another proxy, or directly if there is none. Restarts the browser if it must.
   * If that fails, the session ends. Throws `conflict` while another call restarts it.
   */
  abstract changeProxy(proxy: ProxyAccess | undefined, signal: AbortSignal): Promise<void>;

  /** Whether the browser runs as a client with these launch options needs it. */
  fits(launch: Launch | undefined): boolean {
    return isSameLaunch(this.settings, this.launch, launch);
  }

  /**
   * Restarts the browser with these launch options and its start page, unless it fits them. Returns whether it restarted.
   * If that fails, the session may have ended. Throws `bad_request` if the browser doesn't start with them.
   */
  async fit(launch: Launch | undefined, signal: AbortSignal): Promise<boolean> {
    const isFit = this.fits(launch);
    if (!isFit) await this.relaunch(launch, signal);
    await this.complete(launch, signal);
    return !isFit;
  }

  /** Gives the browser the window and the proxy of the launch options with which it was started. */
  async complete(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    this.lease.launch = launch;
    if (launch) this.record();
    const size = windowSizeIn(launch?.args ?? []);
    if (size) await this.resize({ ...this.settings.viewport, ...size }, false);
    if (launch?.proxy) await this.changeProxy(launch.proxy, signal);
  }

  protected abstract relaunch(launch: Launch | undefined, signal: AbortSignal): Promise<void>;

  /**
   * Gives the browser's windows another size. Throws `conflict` while a recording or a live view runs, unless `force` is
   * true: their pictures then scale the new size to the old one.
   */
  abstract resize(viewport: SessionSettings['viewport'], force: boolean): Promise<void>;

  /**
   * Ends the lease and begins another: invalidates the session's URLs, closes sockets and ends screencasts. With `wipe`,
   * also removes the lease's files, contexts and clipboard, for which `confirm` waits.
   */
  changeHands(_options = { wipe: false }): void {
    const before = this.#lease;
    this.#lease = new Lease(this.id, this.settings.telemetry);
    this.wasReused = true;
    this.#endLease(before);
  }

  /** Restarts the idle timeout. */
  touch(): void {
    this.#idleTimeout.touch();
  }

  /** Keeps the session from its idle timeout until the returned function is called. */
  keepActive(): () => void {
    let cancel: () => void;
    const touch = () => {
      this.touch();
      cancel = this.#clock.after(touchIntervalMs, touch);
    };
    touch();
    return () => {
      cancel();
      this.touch();
    };
  }

  /** Ends the session after this many idle seconds. `undefined`: never. */
  watchIdle(timeoutSeconds: number | undefined): void {
    if (timeoutSeconds === undefined || !this.alive) this.#idleTimeout.stop();
    else this.#idleTimeout.start(timeoutSeconds);
  }

  /** Marks the session as ended, and ends the access of its caller. The second call does nothing. */
  protected markEnded(): void {
    if (!this.alive) return;
    this.#endedAt = this.#clock.now();
    this.#idleTimeout.stop();
    this.#end.abort(new OperationError('conflict', `the browser session ${this.id} ended during the action`));
    this.#endLease(this.#lease);
  }

  /** Called when the session or its lease ends. */
  protected abstract closeConnections(): void;

  #endLease(lease: Lease): void {
    this.closeConnections();
    lease.end(new OperationError('conflict', `the browser session ${this.id} ended or was released during the action`));
  }
}
