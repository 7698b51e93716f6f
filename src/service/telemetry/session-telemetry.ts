import type { TelemetryCategory } from '../../contract/telemetry.ts';
import type { Clock } from '../process/clock.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import type { SessionNotice } from '../sessions/local/session-clients.ts';
import { BrowserCapture } from './browser-capture.ts';
import { cut } from './cut.ts';
import { TelemetryLog, type Capture } from './telemetry-log.ts';

/** The categories that a `BrowserCapture` records. The service records the others itself. */
const ofBrowser: ReadonlySet<TelemetryCategory> = new Set(['console', 'page', 'interaction', 'network', 'screenshot']);

/** The telemetry of one lease of a session: captures events, and keeps the last ones in a log. */
export class SessionTelemetry {
  readonly log = new TelemetryLog();
  readonly #session: LocalSession;
  readonly #clock: Clock;
  readonly #ended: AbortSignal;
  readonly #stopNotices: () => void;
  #categories: ReadonlySet<string> = new Set();
  #capture: BrowserCapture | undefined;
  #changing: Promise<void> = Promise.resolve();

  constructor(session: LocalSession, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    this.#stopNotices = session.onNotice((notice) => this.#notice(notice));
    this.#ended = session.lease.signal;
    this.#ended.addEventListener('abort', () => this.#end(), { once: true });
  }

  /** Sets the captured categories. Rejects if the browser doesn't answer. */
  async capture(categories: readonly TelemetryCategory[]): Promise<void> {
    const change = this.#changing.then(() => this.#change(categories));
    this.#changing = change.catch(() => {});
    await change;
  }

  async #change(categories: readonly TelemetryCategory[]): Promise<void> {
    if (this.#ended.aborted) return;
    this.#categories = new Set(categories.length > 0 ? [...categories, 'monitor'] : []);
    const wanted = categories.filter((category) => ofBrowser.has(category));
    const { browser } = this.#session;
    if (this.#capture && (wanted.join() !== this.#capture.categories.join() || this.#capture.browser !== browser)) {
      this.#capture.stop();
      this.#capture = undefined;
    }
    if (wanted.length === 0 || this.#capture) return;
    const capture = new BrowserCapture(browser, {
      categories: wanted,
      emit: (event) => this.#add(event),
      isAlone: () => this.#session.clients.count === 0,
    });
    this.#capture = capture;
    try {
      await capture.start();
      if (this.#ended.aborted) capture.stop();
    } catch (error) {
      this.#capture = undefined;
      capture.stop();
      throw error;
    }
  }

  #notice(notice: SessionNotice): void {
    if (notice.category === 'monitor') return void this.#restarted(notice);
    this.#add({ ...notice, source: { kind: notice.category === 'system' ? 'local_process' : 'kernel_api' } });
  }

  /** The session has a new Chromium process: capture that one. */
  async #restarted(notice: SessionNotice): Promise<void> {
    const wanted = this.#capture?.categories;
    if (!wanted) return;
    const source = { kind: 'cdp' as const };
    const startedAt = performance.now();
    this.#add({ ...notice, source });
    const others = Array.from(this.#categories).filter((name) => name !== 'monitor') as TelemetryCategory[];
    const monitored = { category: 'monitor' as const, source };
    try {
      await this.capture(others);
      const data = { reconnect_duration_ms: Math.round(performance.now() - startedAt) };
      this.#add({ ...monitored, type: 'monitor_reconnected', data });
    } catch {
      this.#add({ ...monitored, type: 'monitor_reconnect_failed', data: { reason: 'reconnect_exhausted' } });
    }
  }

  #add({ category, type, source, data, isWhole }: Capture): void {
    if (!this.#categories.has(category)) return;
    const kept = data && (isWhole ? { data } : cut(data));
    this.log.add({ ts: this.#clock.now() * 1000, type, category, source, ...kept });
  }

  #end(): void {
    this.#stopNotices();
    this.#capture?.stop();
    this.log.close();
  }
}
