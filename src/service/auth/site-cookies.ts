import type { CdpConnection } from '../browsers/cdp-connection.ts';
import type { Cookie } from '../browsers/cdp-protocol.ts';
import { isWithin } from './allowed-domains.ts';

/** The cookies of some domains that can be those of a login. */
export class SiteCookies {
  readonly #cdp: CdpConnection;
  readonly #domains: readonly string[];
  readonly #signal: AbortSignal;
  #known: ReadonlySet<string> = new Set();

  constructor(cdp: CdpConnection, domains: readonly string[], signal: AbortSignal) {
    this.#cdp = cdp;
    // Cookies know no ports.
    this.#domains = domains.map((domain) => domain.replace(/:\d+$/, ''));
    this.#signal = signal;
  }

  /** Takes those that are there now for known. */
  async remember(): Promise<void> {
    this.#known = await this.#all();
  }

  async areThere(): Promise<boolean> {
    return (await this.#all()).size > 0;
  }

  /** Whether there are others, or with other values, than those that are known. */
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
