import { OperationError } from '../../../contract/errors.ts';
import type { SessionNotice } from '../local/session-clients.ts';
import { Session } from '../session.ts';
import type { Screencast } from './screencast.ts';
import { Screencasts } from './screencasts.ts';
import type { ShownBrowser } from './shown-browser.ts';

/** A session of this machine whose pages the service can show and use. */
export abstract class ShownSession extends Session {
  protected readonly screencasts = new Screencasts();

  abstract get browser(): ShownBrowser;

  /** Tells telemetry what happens in the session. Default: there is none. */
  note(_notice: SessionNotice): void {}

  /** Starts a screencast, which ends at the latest when the session or its lease ends. */
  screencast(options: Parameters<Screencasts['start']>[1]): Screencast {
    if (!this.alive) throw new OperationError('not_found', `the browser session ${this.id} has ended`);
    return this.screencasts.start(this.browser, options);
  }

  protected closeConnections(): void {
    this.screencasts.stop();
  }
}
