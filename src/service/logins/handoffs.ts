import { createHash, randomBytes } from 'node:crypto';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';

/** A login that its starter hands over to a person's browser, and the API key of the starter. */
export type Handoff = { connectionId: string; projectId: string; apiKeyId: string; flowId: string };

const tokenMs = 30 * 60_000;

/**
 * The codes and tokens by which a page without an API key follows one login and answers its questions. A code works
 * once, and becomes a token. Both are forgotten when the service ends, as are the logins.
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
    const hash = hashOf(code);
    const handoff = this.#codes.get(hash);
    if (!handoff || handoff.connectionId !== connectionId || handoff.expiresAt <= this.#clock.now())
      throw new OperationError('gone', 'the code was used or has expired: start another login for a new one');
    this.#codes.delete(hash);
    return { handoff, token: this.#keep(this.#tokens, handoff, this.#clock.now() + tokenMs) };
  }

  /** The handoff of a token that hasn't expired. */
  find(token: string): Handoff | undefined {
    const handoff = this.#tokens.get(hashOf(token));
    return handoff && handoff.expiresAt > this.#clock.now() ? handoff : undefined;
  }

  #keep(kept: Map<string, Handoff & { expiresAt: number }>, handoff: Handoff, expiresAt: number): string {
    const now = this.#clock.now();
    for (const [hash, other] of kept) if (other.expiresAt <= now) kept.delete(hash);
    const secret = randomBytes(24).toString('base64url');
    kept.set(hashOf(secret), { ...handoff, expiresAt });
    return secret;
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
