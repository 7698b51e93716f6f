import type { Client } from '../../client/index.ts';

/** The machine of a session. */
export type Host = {
  readonly url: string;
  readonly apiKey: string;
  readonly client: Client;
  readonly owner: string;
  readonly isUp: boolean;
  readonly isLeaving: boolean;
  /** Whether clients may use the machine's own URLs. */
  readonly isDirect: boolean;
  /** Treats the machine as down until it answers a check, which starts now. */
  suspect(): void;
  /** Compares the machine's sessions with those of the control plane. */
  check(): Promise<void>;
};
