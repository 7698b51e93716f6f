import { OperationError } from '../../../contract/errors.ts';
import type { Egress } from '../../chromium/network/egress.ts';
import type { Exposure } from '../../chromium/network/exposure.ts';
import type { Claim, WaitingBytes } from '../../process/waiting-bytes.ts';
import type { SessionNotice } from '../local/session-clients.ts';
import { Session } from '../session.ts';
import type { Screencast } from './screencast.ts';
import { Screencasts } from './screencasts.ts';
import type { ShownBrowser } from './shown-browser.ts';

/** A session of this machine whose pages the service can show and use. */
export abstract class ShownSession extends Session {
  protected readonly screencasts = new Screencasts();
  readonly #waitingBytes: WaitingBytes;
  #exposure: Exposure | undefined;

  constructor({ waitingBytes, ...options }: ConstructorParameters<typeof Session>[0] & { waitingBytes: WaitingBytes }) {
    super(options);
    this.#waitingBytes = waitingBytes;
  }

  abstract get browser(): ShownBrowser;

  /** The local proxies of its browser. */
  protected abstract get egress(): Egress;

  /** The hosts that pages reach through a tunnel, on the machine of the session's client. */
  get exposure(): Exposure | undefined {
    return this.#exposure;
  }

  set exposure(exposure: Exposure | undefined) {
    this.#exposure = exposure;
    this.egress.exposure = exposure;
  }

  /** Begins to count the bytes that wait in the service for a client of the session. */
  claimBytes(): Claim {
    return this.#waitingBytes.claim({ projectId: this.settings.projectId, sessionId: this.id });
  }

  /** Tells telemetry what happens in the session. Default: there is none. */
  note(_notice: SessionNotice): void {}

  /** Starts a screencast, which ends at the latest when the session or its lease ends. */
  screencast(options: Parameters<Screencasts['start']>[1]): Screencast {
    if (!this.alive) throw new OperationError('not_found', `the browser session ${this.id} has ended`);
    return this.screencasts.start(this.browser, options);
  }

  protected closeConnections(): void {
    this.screencasts.stop();
    this.exposure = undefined;
  }
}
