import { OperationError } from '../../contract/errors.ts';
import { parseNetworkPattern, type NetworkPattern } from '../../tunnel/pattern.ts';
import type { Exposure, Tunnel } from '../chromium/network/exposure.ts';
import type { Lease } from '../sessions/lease.ts';

/** A session whose pages can reach hosts of its client. */
type Exposing = { readonly id: string; readonly lease: Lease; exposure: Exposure | undefined };

/** Carries connections of a session's browser to the machine of its client. */
export type Carrier = Tunnel & {
  /** Ends all connections and accepts no others. Tells the client the reason. */
  end(reason: string): void;
  /** Ends all connections. If the carrier has a WebSocket of its own, closes it. */
  destroy(): void;
};

const longestPattern = 4096;

/** Reads the pattern that a client sent. Throws `bad_request`. */
export function clientPattern(text: string): NetworkPattern {
  try {
    if (text.length > longestPattern)
      throw new Error(`the pattern of exposed hosts has ${text.length} characters: the limit is ${longestPattern}`);
    return parseNetworkPattern(text);
  } catch (error) {
    throw new OperationError('bad_request', (error as Error).message, { cause: error });
  }
}

/** Throws `conflict` if another client than `client` exposes hosts to a session. */
export function refuseSecond({ id, exposure }: Exposing, client: string): void {
  if (exposure instanceof ClientExposure && exposure.tunnel && exposure.client !== client)
    throw new OperationError(
      'conflict',
      `the browser session ${id} has an open tunnel of another client: close that one first`,
    );
}

/** The hosts that a client exposes to a session's browser. They stay exposed while the tunnel is broken. */
export class ClientExposure implements Exposure {
  readonly client: string;
  readonly matches: NetworkPattern;
  readonly #session: Exposing;
  #carrier: Carrier | undefined;
  readonly #lease: AbortSignal;
  readonly #leave = () => this.#carrier?.end('the session has ended, or its lease was given back');

  /** Exposes hosts until the lease ends. An earlier tunnel of the same client ends. Throws `conflict` if another one has a tunnel. */
  constructor(session: Exposing, options: { client: string; matches: NetworkPattern; carrier: Carrier }) {
    refuseSecond(session, options.client);
    if (session.exposure instanceof ClientExposure) session.exposure.close();
    this.client = options.client;
    this.matches = options.matches;
    this.#session = session;
    this.#carrier = options.carrier;
    this.#lease = session.lease.signal;
    this.#lease.addEventListener('abort', this.#leave, { once: true });
    session.exposure = this;
  }

  get tunnel(): Tunnel | undefined {
    return this.#carrier;
  }

  /** Ends the tunnel. */
  close(): void {
    this.#lease.removeEventListener('abort', this.#leave);
    this.#carrier?.destroy();
    this.#carrier = undefined;
  }

  /** Ends the tunnel of a client that won't come back. Its hosts are no longer exposed. */
  withdraw(): void {
    this.close();
    if (this.#session.exposure === this) this.#session.exposure = undefined;
  }
}
