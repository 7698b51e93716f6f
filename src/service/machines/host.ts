import type { Client } from '../../client/index.ts';

/** The machine of a session. */
export type Host = {
  readonly url: string;
  readonly apiKey: string;
  readonly client: Client;
  readonly owner: string;
  readonly isUp: boolean;
  readonly isLeaving: boolean;
  /** Whether clients may use the machine's own links. */
  readonly isDirect: boolean;
  /** Asks the machine soon whether it still answers. */
  suspect(): void;
  /** Compares the machine's sessions with those of the control plane. */
  check(): Promise<void>;
};
