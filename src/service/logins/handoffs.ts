import { randomBytes } from 'node:crypto';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { sha256 } from '../process/sha256.ts';

/** A login that a program has started, and that a person continues in a browser. Has the API key of the program. */
export type Handoff = { connectionId: string; projectId: string; apiKeyId: string; flowId: string };

const tokenMs = 30 * 60_000;

/**
 * Issues codes and tokens with which a web page without an API key follows one login and answers its questions. A code
 * works once: the page exchanges it for a token. Codes, tokens and logins are lost when the service ends.
 */
export class Handoffs {
  readonly #clock: Clock;
  /** By their hashes. */
  readonly #codes = new Map<string, Handoff & { expiresAt: number }>();
  readonly #tokens = new Map<string, Handoff & { expiresAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Issues the code of a login. `expiresAt` is in ms since the epoch. */
  issue(handoff: Handoff, expiresAt: number): string {
    return this.#keep(this.#codes, handoff, expiresAt);
  }

  /** Exchanges a code for a token. Throws `gone` for a code that was used or has expired, and for a wrong one. */
  exchange(connectionId: string, code: string): { handoff: Handoff; token: string } {
    const hash = sha256(code);
    const handoff = this.#codes.get(hash);
    if (!handoff || handoff.connectionId !== connectionId || handoff.expiresAt <= this.#clock.now())
      throw new OperationError('gone', 'the code was used or has expired: start another login for a new one');
    this.#codes.delete(hash);
    return { handoff, token: this.#keep(this.#tokens, handoff, this.#clock.now() + tokenMs) };
  }

  /** The handoff of a token that hasn't expired. */
  find(token: string): Handoff | undefined {
    const handoff = this.#tokens.get(sha256(token));
    return handoff && handoff.expiresAt > this.#clock.now() ? handoff : undefined;
  }

  #keep(kept: Map<string, Handoff & { expiresAt: number }>, handoff: Handoff, expiresAt: number): string {
    const now = this.#clock.now();
    for (const [hash, other] of kept) if (other.expiresAt <= now) kept.delete(hash);
    const secret = randomBytes(24).toString('base64url');
    kept.set(sha256(secret), { ...handoff, expiresAt });
    return secret;
  }
}
