import type { Client } from '../../client/index.ts';

/** The machine of a session, as the session sees it. `Machine` implements it. */
export type Host = {
  readonly url: string;
  readonly apiKey: string;
  readonly client: Client;
  /** The id of the control plane. */
  readonly owner: string;
  /** Whether the machine answered the last request. */
  readonly isUp: boolean;
  /** Whether the machine takes no new sessions, because it drains or discovery no longer finds it. */
  readonly isLeaving: boolean;
  /** Whether the machine is the service for overflow. It keeps no idle browsers. */
  readonly isOverflow: boolean;
  /** Whether clients may use the machine's own URLs. */
  readonly isDirect: boolean;
  /** The names of the profiles that sessions load now. */
  readonly loads: Set<string>;
  /** Treats the machine as down until it answers a check, which starts now. */
  suspect(): void;
  /** Compares the machine's sessions with those of the control plane. */
  check(): Promise<void>;
};
