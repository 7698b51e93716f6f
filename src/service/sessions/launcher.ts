import type { OperationError } from '../../contract/errors.ts';
import type { Session, SessionSettings } from './session.ts';
import type { OtherEngine } from './launch.ts';

/** Starts the browsers of sessions, on this machine or on others. `LocalLauncher` and `Machines` implement it. */
export type Launcher<S extends Session> = {
  /** Whether headful browsers can be started. */
  readonly hasDisplay: boolean;
  /** How many browsers may start at the same time. */
  readonly launchesAtOnce: number;
  /**
   * Starts a session. Throws `unavailable` if no Chromium is found or it doesn't start, `insufficient_storage` if the copy
   * of the profile doesn't fit on the disk, and the signal's reason.
   */
  start(settings: SessionSettings, signal: AbortSignal): Promise<S>;
  /** Checks that browsers can start. Rejects if they can't. */
  probe(signal: AbortSignal): Promise<void>;
  /** Throws `bad_request` if no browser has this name. Without it, the machines check names. */
  checkChannel?(channel: string): Promise<unknown>;
  /** Throws `no_browser` if no build of the engine fits this version of Playwright. Default: any. */
  checkEngine?(engine: OtherEngine, playwright: string): Promise<void>;
  /** How many browsers can run at once. Default: no limit. */
  readonly capacity?: number;
  /**
   * How many browsers can start now. Default: no limit. With `canOverflow`, the service for overflow counts too: a caller
   * waits for the browser, and it can run there.
   */
  freeSlots?(canOverflow: boolean): number;
  /** The error for a session if no slot is free. */
  refusal?(): OperationError;
  /** Calls `callback` each time a browser may start again, or a session's machine answers again. */
  onRoom?(callback: () => void): void;
};

/** The settings of a session that not every service supports. */
type Needs = {
  engine?: string | undefined;
  profile?: unknown;
  tunnel?: boolean | undefined;
  extraSwitches?: readonly string[] | undefined;
  channel?: string | undefined;
};

/**
 * Whether a session can run on the service for overflow, which may be the hosted one: that takes no copy of a profile, has
 * no tunnel, and starts only Chromium with its own switches.
 */
export function canOverflow({ engine = 'chromium', profile, tunnel, extraSwitches = [], channel }: Needs): boolean {
  return engine === 'chromium' && !profile && !tunnel && !channel && extraSwitches.length === 0;
}
