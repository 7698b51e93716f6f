import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
import { isWithin } from './allowed-domains.ts';

/** Finds the cookies of a site that look like those of a login, and whether they have changed. */
export class SiteCookies {
  readonly #cdp: CdpConnection;
  readonly #domains: readonly string[];
  readonly #signal: AbortSignal;
  #known: ReadonlySet<string> = new Set();

  constructor(cdp: CdpConnection, domains: readonly string[], signal: AbortSignal) {
    this.#cdp = cdp;
    // Cookies are valid for all ports of a host.
    this.#domains = domains.map((domain) => domain.replace(/:\d+$/, ''));
    this.#signal = signal;
  }

  /** Remembers the current cookies. */
  async remember(): Promise<void> {
    this.#known = await this.#all();
  }

  async areThere(): Promise<boolean> {
    return (await this.#all()).size > 0;
  }

  /** Whether there are new cookies or new values since `remember`. */
  async areNew(): Promise<boolean> {
    return [...(await this.#all())].some((cookie) => !this.#known.has(cookie));
  }

  async #all(): Promise<Set<string>> {
    const { cookies } = await this.#cdp.send('Storage.getCookies', {}, { signal: this.#signal });
    return new Set(cookies.filter((cookie) => this.#isOfLogin(cookie)).map(({ name, value }) => `${name}=${value}`));
  }

  #isOfLogin({ domain = '', httpOnly, name }: Cookie): boolean {
    if (!this.#domains.some((one) => isWithin(`http://${domain.replace(/^\./, '')}`, one))) return false;
    return httpOnly === true || /sess|sid|auth|token|jwt|login|user|remember|identity/i.test(name);
  }
}
