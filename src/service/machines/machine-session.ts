import { isDeepStrictEqual } from 'node:util';
import type { BrowserSession, BrowserUpdate, ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import { telemetryOf, type TelemetryCategory } from '../../contract/telemetry.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { traceHeaders } from '../process/network/trace-headers.ts';
import type { CallOptions } from '../../client/index.ts';
import type { ProfileDirectories } from '../profiles/profile-directories.ts';
import { withoutProxy, type Launch } from '../sessions/launch.ts';
import { SessionProfile } from '../sessions/session-profile.ts';
import { Session, type Links, type OpenCdp, type Place, type SessionSettings } from '../sessions/session.ts';
import { farCdp } from './far-cdp.ts';
import type { Host } from './host.ts';
import { isMissing, isSilence, toOperationError } from './machine-errors.ts';
import { changeProxyOn, linksOf } from './launch.ts';
import { leaseTags, profileName } from './owner-tags.ts';
import { SentProfile } from './sent-profile.ts';

export type MachineSessionOptions = {
  id: string;
  host: Host;
  settings: SessionSettings;
  links: Links;
  playwrightVersions: readonly string[] | undefined;
  videoVersions: () => readonly string[];
  sent: SentProfile | undefined;
  /** The version of the profile that the session copied. */
  profileVersion?: string | undefined;
  loadedProfile?: Profile | undefined;
  earlier?: { createdAt: number; token: string; liveViewToken: string };
  profiles: ProfileDirectories;
  /** Called when the lease changes, and when the session ends. */
  onChange: (session: MachineSession) => void;
  clock: Clock;
};

/** The time limit for short calls to the machine, in ms. */
const confirmMs = 3000;
/** The time limit for ending the browser on the machine, in ms. */
const endMs = 30_000;

/** A session whose browser runs on another machine. */
export class MachineSession extends Session {
  readonly host: Host;
  readonly ended: Promise<void>;
  readonly sockets = new Set<{ letGo(): void; destroy(): void }>();
  links: Links;
  readonly #profiles: ProfileDirectories;
  readonly #onChange: (session: MachineSession) => void;
  #resolveEnded = () => {};
  #closing: Promise<void> | undefined;
  #handedOver: Promise<void> = Promise.resolve();
  #retagging: Promise<void> | undefined;
  /** Its copy is the profile that was sent to the machine. */
  readonly #profile: SessionProfile<SentProfile>;
  #canceledDownloads = 0;
  #isOver = false;

  constructor(options: MachineSessionOptions) {
    const { settings, sent, profileVersion } = options;
    const saving = { copy: sent, version: profileVersion, isSaved: settings.saveChanges ?? false };
    const profile = new SessionProfile(options.loadedProfile ?? settings.profile, saving);
    super({ ...options, profile });
    this.#profile = profile;
    this.host = options.host;
    this.links = options.links;
    this.#profiles = options.profiles;
    this.#onChange = options.onChange;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  override get place(): Place {
    return { machine: this.host.url, links: this.host.isDirect ? this.links : undefined };
  }

  override get hasTunnel(): boolean {
    return this.links.tunnel_ws_url !== undefined;
  }

  override get isReachable(): boolean {
    return this.host.isUp;
  }

  override get isWorthKeeping(): boolean {
    return super.isWorthKeeping && !this.host.isLeaving && !this.host.isOverflow;
  }

  get sent(): SentProfile | undefined {
    return this.#profile.copy;
  }

  /** Whether the session's end saves the profile. */
  get isSaved(): boolean {
    return this.#profile.isSaved;
  }

  get canceledDownloads(): number {
    return this.#canceledDownloads;
  }

  /** Whether the session has ended and its profile is saved, or can't be saved. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the session's end saves a profile, which the control plane then fetches. */
  get savesProfile(): boolean {
    return this.#profile.unsaved !== undefined;
  }

  /** Whether the machine is lost, or doesn't know the session any more. */
  get isGone(): boolean {
    return this.endReason === 'machine_lost';
  }

  async ping(): Promise<void> {
    await this.host.client.browsers.retrieve(this.id, {}, { timeout: 2000, maxRetries: 0 });
  }

  override async confirm(): Promise<void> {
    await this.#handedOver;
    await this.#retagging;
    try {
      await this.#sendTags();
    } catch (error) {
      if (isMissing(error)) void this.host.check();
      else this.host.suspect();
      throw toOperationError(error, this.host.url);
    }
  }

  /** Sends the tags to the machine too, because its live view shows the test. */
  override retag(tags: Record<string, string> | undefined): void {
    super.retag(tags);
    this.#retagging ??= this.#sendChangedTags().finally(() => (this.#retagging = undefined));
  }

  override record(): void {
    this.#onChange(this);
  }

  override takeBack(): void {
    // The next control plane ends the lease. This one can't store the new URLs of the session any more.
    if (!this.isDetached) super.takeBack();
  }

  override changeHands(options = { wipe: false }): void {
    super.changeHands(options);
    this.#handedOver = this.#handOver(options);
  }

  async end(): Promise<void> {
    // Only a profile that is being saved is worth the wait.
    if (this.isDetached && !(this.#closing && this.savesProfile)) return;
    this.markEnded();
    await (this.#closing ??= this.#finish(() => this.#delete()));
  }

  async openPage(url: string): Promise<void> {
    const { cdp, close } = await this.openCdp();
    await cdp.send('Target.createTarget', { url }).finally(close);
  }

  async openCdp(): Promise<OpenCdp> {
    return await farCdp(this.links.cdp_ws_url);
  }

  async capture(categories: readonly TelemetryCategory[]): Promise<void> {
    // Wait until the machine has handed a pool's browser over to its next lease: that resets its telemetry.
    await this.#handedOver;
    await this.update({ telemetry: telemetryOf(categories) }, { timeout: confirmMs });
    this.lease.telemetry = categories;
    this.record();
  }

  async resize(viewport: SessionSettings['viewport'], force: boolean): Promise<void> {
    const { width, height } = this.settings.viewport;
    if (viewport.width !== width || viewport.height !== height) this.markChanged();
    await this.update({ viewport: { ...viewport, force } });
    this.settings.viewport = viewport;
  }

  /** Call before a change: the machine may have made it although its answer is missing. */
  markChanged(): void {
    this.isChanged = true;
    this.record();
  }

  async loadProfile(profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    this.#profile.refuseSecond(this.id);
    const { client, url, owner, isOverflow, loads } = this.host;
    if (isOverflow)
      throw new OperationError(
        'conflict',
        `the browser session ${this.id} runs on the service for overflow, which takes no profiles: start a session with the profile instead`,
      );
    const name = profileName(owner, newId());
    let sent: SentProfile | undefined;
    this.markChanged();
    loads.add(name);
    try {
      sent = await SentProfile.send({ id: profile.id, name }, { client, directories: this.#profiles, signal });
      await client.browsers.update(this.id, { profile: { name, save_changes: true } }, { signal });
      if (!this.alive)
        throw new OperationError('conflict', `the browser session ${this.id} ended while it loaded the profile`);
    } catch (error) {
      await sent?.remove();
      throw toOperationError(error, url);
    } finally {
      loads.delete(name);
    }
    const { copyOf: version } = sent.record;
    Object.assign(this.#profile, { loaded: profile, copy: sent, version, isSaved: saveChanges });
    this.wasReused = false;
    this.record();
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  async changeProxy(proxy: ProxyAccess | undefined, signal: AbortSignal): Promise<void> {
    this.markChanged();
    await changeProxyOn(this.host, this, { proxy, signal }).catch((error: unknown) => {
      throw toOperationError(error, this.host.url);
    });
    this.settings.proxy = proxy;
    this.record();
  }

  protected async relaunch(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    const asked = withoutProxy(launch ?? { args: [] });
    const { launch_options: answered } = await this.update({ launch_options: asked }, { signal });
    if (!isDeepStrictEqual(answered, asked))
      throw new OperationError('conflict', `the machine ${this.host.url} takes no launch options: update it`);
    this.launch = launch;
    this.record();
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  /** Updates the session from the machine's answer. An idle time below `silentMs` counts as use. */
  seen({ idle_seconds: idle, downloads_canceled: canceled = 0 }: BrowserSession, silentMs: number): void {
    this.#canceledDownloads = canceled;
    // Clients that use the machine's own URLs bypass the control plane.
    if (idle !== undefined && idle * 1000 < silentMs) this.touch();
  }

  /** Call when the browser ended on the machine, for instance because it crashed. */
  async endedOnMachine({ profile_save: save, end_reason: reason = 'browser_ended' }: BrowserSession): Promise<void> {
    if (this.isDetached && !this.#closing) return;
    if (this.alive) this.endReason = reason;
    this.markEnded();
    await (this.#closing ??= this.#finish(() => Promise.resolve(save)));
  }

  /** Ends the session without a call to its machine, because the machine or the session on it is lost. */
  lose(): void {
    if (!this.alive || this.isDetached) return;
    this.endReason = 'machine_lost';
    if (this.savesProfile) this.#notSaved(new Error(`the machine ${this.host.url} was lost`));
    this.markEnded();
    this.#closing ??= Promise.resolve();
    for (const socket of this.sockets) socket.destroy();
    this.#isOver = true;
    this.record();
    this.#resolveEnded();
  }

  /** Leaves the session running on its machine for the next control plane. */
  detach(): void {
    this.isDetached = true;
    this.watchIdle(undefined);
    for (const socket of this.sockets) socket.destroy();
  }

  /** Gives the machine a moment to close the connections, because its close frame tells clients the reason. */
  protected closeConnections(): void {
    for (const socket of this.sockets) socket.letGo();
  }

  protected async update(changed: BrowserUpdate, options: CallOptions = {}): Promise<BrowserSession> {
    const { client, url } = this.host;
    const call = { headers: traceHeaders(), ...options };
    return await client.browsers.update(this.id, changed, call).catch((error: unknown) => {
      throw toOperationError(error, url);
    });
  }

  /** Ignores errors, because only the live view uses these tags. */
  async #sendChangedTags(): Promise<void> {
    for (let sent: typeof this.lease.tags | null = null; this.alive && sent !== this.lease.tags;) {
      sent = this.lease.tags;
      await this.#sendTags().catch(() => undefined);
    }
  }

  async #sendTags(): Promise<void> {
    const tags = leaseTags(this.host.owner, this.lease.tags);
    await this.host.client.browsers.update(this.id, { tags }, { timeout: confirmMs, headers: traceHeaders() });
  }

  async #handOver(options: { wipe: boolean }): Promise<void> {
    try {
      const call = { timeout: confirmMs, headers: traceHeaders() };
      const browser = await this.host.client.browsers.handOver(this.id, options, call);
      this.links = linksOf(browser);
      this.#canceledDownloads = browser.downloads_canceled ?? 0;
      this.record();
    } catch {
      await this.end();
    }
  }

  /** Calls `end`, which ends the browser, and then fetches the profile if it must be saved. Never rejects. */
  async #finish(end: () => Promise<ProfileSave | undefined>): Promise<void> {
    this.record();
    try {
      const save = await end();
      const { unsaved } = this.#profile;
      if (!unsaved) return;
      if (save?.status === 'failed') throw new OperationError('profile_not_saved', save.message ?? 'it was not saved');
      this.#profile.save = await unsaved.fetch(this.id);
    } catch (error) {
      // When the machine answers again, a check ends the session there.
      if (isSilence(error) || isMissing(error)) this.endReason ??= 'machine_lost';
      if (isSilence(error)) this.host.suspect();
      if (this.savesProfile) this.#notSaved(error);
    } finally {
      this.#isOver = true;
      try {
        this.record();
        await this.sent?.remove();
      } finally {
        this.#resolveEnded();
      }
    }
  }

  /** Ends the browser. If it had ended already, returns the result of saving the profile. */
  async #delete(): Promise<ProfileSave | undefined> {
    const { client, url, isUp } = this.host;
    try {
      const headers = traceHeaders();
      await client.browsers.deleteByID(this.id, { timeout: endMs, headers, ...(!isUp && { maxRetries: 0 }) });
      return undefined;
    } catch (error) {
      if (!isMissing(error)) throw isSilence(error) ? error : toOperationError(error, url);
      const ended = await client.browsers.retrieve(this.id, { include_deleted: true });
      this.endReason ??= ended.end_reason;
      return ended.profile_save;
    }
  }

  #notSaved(error: unknown): void {
    const known = toOperationError(error, this.host.url);
    const message = `the profile was not saved and is unchanged: ${(known as Error).message}`;
    const isTold = known instanceof OperationError && !isMissing(error);
    this.#profile.failed(isTold ? known : new OperationError('profile_not_saved', message));
  }
}
