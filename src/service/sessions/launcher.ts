import type { OperationError } from '../../contract/errors.ts';
import type { OfferedEngine } from '../../contract/organization.ts';
import type { Engine } from '../../contract/values.ts';
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
  /** The browsers of its machines. Default: unknown. */
  readonly offered?: Offered;
  /** How many browsers of an engine, or of all, can run at once. Default: no limit. */
  capacityFor?(engine?: Engine): number;
  /** How many browsers can start now. Default: no limit. */
  freeSlots?(needs: PlaceNeeds): number;
  /** Whether a browser of the engine can run in the place of a session, or of one that still starts. Default: yes. */
  canReplace?(session: Session | undefined, engine: Engine): boolean;
  /** The error for a session if no slot is free. */
  refusal?(engine: Engine): OperationError;
  /** Calls `callback` each time a browser may start again, or a session's machine answers again. */
  onRoom?(callback: () => void): void;
};

/** The browsers of a launcher's machines: as far as it knows them, and read again. */
export type Offered = { latest(): readonly OfferedEngine[]; read(): Promise<readonly OfferedEngine[]> };

/**
 * The place that a browser needs. With `canOverflow`, the service for overflow counts too: a caller waits for the browser,
 * and it can run there.
 */
export type PlaceNeeds = { engine: Engine; canOverflow: boolean };

/** The settings of a session that not every service supports. */
type Needs = {
  engine?: Engine | undefined;
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

export function placeNeeds(settings: Needs): PlaceNeeds {
  return { engine: settings.engine ?? 'chromium', canOverflow: canOverflow(settings) };
}
