import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse, serialize } from 'hono/utils/cookie';
import { OperationError } from '../../contract/errors.ts';
import { type Table, table } from '../database/table.ts';
import type { Addresses } from '../http/addresses.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { ApiKeyStore } from '../organization/api-keys.ts';
import type { Clock } from '../process/clock.ts';
import { sha256 } from '../process/sha256.ts';
import { text, time } from '../database/columns.ts';

export type SignInsOptions = {
  signIns: Table<typeof signInsTable>;
  apiKeys: ApiKeyStore;
  addresses: Addresses;
  clock: Clock;
};

/**
 * Proves that the dashboard's own script sent a request: forms can't send it, and scripts of other sites need a
 * permission.
 */
export const dashboardHeader = 'x-playwright-pool-dashboard';

const cookieName = 'playwright-pool';
const lifeMs = 12 * 3600 * 1000;
const linkLifeMs = 60_000;
const mostLinks = 100;

/**
 * Signs people in to the dashboard with an API key or a one-time link. The cookie carries a random token. A sign-in
 * ends with its key, and survives a restart of a service with a data directory.
 */
export class SignIns {
  readonly #rows: Table<typeof signInsTable>;
  readonly #options: SignInsOptions;
  /** One-time links by the hash of their token, oldest first. */
  readonly #links = new Map<string, { apiKeyId: string; expiresAt: number }>();

  constructor(options: SignInsOptions) {
    this.#options = options;
    this.#rows = options.signIns;
  }

  /** Signs in with a key, and returns the `Set-Cookie` header. Throws `unauthorized`. */
  withKey(incoming: IncomingMessage, key: string): string {
    const apiKey = this.#options.apiKeys.find(key);
    if (!apiKey)
      throw new OperationError('unauthorized', "The service doesn't know this API key, or the key has expired.");
    return this.#signIn(incoming, apiKey.id);
  }

  /** Signs in with a link, which works once. Throws `unauthorized`. */
  withLink(incoming: IncomingMessage, token: string): string {
    const hash = sha256(token);
    const link = this.#links.get(hash);
    this.#links.delete(hash);
    const { apiKeys, clock } = this.#options;
    if (!link || link.expiresAt <= clock.now() || !apiKeys.isUsable(link.apiKeyId))
      throw new OperationError('unauthorized', 'The link has expired or was used already. Open a new one.');
    return this.#signIn(incoming, link.apiKeyId);
  }

  /** A token that signs in once within 60 s. */
  newLink(apiKeyId: string): { token: string; expiresAt: number } {
    const token = randomBytes(24).toString('base64url');
    const expiresAt = this.#options.clock.now() + linkLifeMs;
    this.#links.set(sha256(token), { apiKeyId, expiresAt });
    const [oldest] = this.#links.keys();
    if (this.#links.size > mostLinks) this.#links.delete(oldest!);
    return { token, expiresAt };
  }

  /** Ends the sign-in of a request, and returns the `Set-Cookie` header that removes the cookie. */
  end(incoming: IncomingMessage): string {
    const token = this.#tokenOf(incoming);
    if (token !== undefined) this.#rows.delete({ hash: sha256(token) });
    return this.#cookie(incoming, '', 0);
  }

  /**
   * The API key of a request with a cookie. Throws `forbidden` if another site may have sent the request.
   */
  keyOf(incoming: IncomingMessage): ApiKeyIdentity | undefined {
    const token = this.#tokenOf(incoming);
    if (token === undefined) return undefined;
    const row = this.#rows.find({ hash: sha256(token) });
    if (!row || row.expiresAt <= this.#options.clock.now()) return undefined;
    const apiKey = this.#options.apiKeys.findById(row.apiKeyId);
    if (apiKey) refuseForeign(incoming);
    return apiKey;
  }

  #signIn(incoming: IncomingMessage, apiKeyId: string): string {
    const now = this.#options.clock.now();
    this.#rows.delete({ expiresAt: { below: now } });
    const token = randomBytes(32).toString('base64url');
    this.#rows.insert({ hash: sha256(token), apiKeyId, expiresAt: now + lifeMs });
    return this.#cookie(incoming, token, lifeMs / 1000);
  }

  #cookie(incoming: IncomingMessage, token: string, maxAge: number): string {
    const secure = this.#options.addresses.originOf(incoming).startsWith('https:');
    return serialize(nameOf(incoming), token, { httpOnly: true, sameSite: 'Strict', path: '/', secure, maxAge });
  }

  #tokenOf(incoming: IncomingMessage): string | undefined {
    const name = nameOf(incoming);
    return parse(incoming.headers.cookie ?? '', name)[name] || undefined;
  }
}

/**
 * Throws `forbidden` for a request that another site may have sent. Pages of other ports of this machine count as the
 * same site, so the cookie alone proves nothing.
 */
export function refuseForeign({ method, headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  const isRead = method === 'GET' || method === 'HEAD';
  if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none')) throw foreign();
  if (isRead) return;
  // The server has refused foreign origins already.
  const isFromHere = headers.origin !== undefined || site === 'same-origin';
  if (headers[dashboardHeader] === undefined || !isFromHere) throw foreign();
}

function foreign(): OperationError {
  return new OperationError(
    'forbidden',
    `a request with the dashboard's cookie must come from the dashboard: send an API key as a bearer token instead`,
  );
}

/** Cookies don't tell ports apart, and a machine may run several services. */
function nameOf({ headers }: IncomingMessage): string {
  const [, port] = /:(\d+)$/.exec(headers.host ?? '') ?? [];
  return port === undefined ? cookieName : `${cookieName}-${port}`;
}

/** The people who are signed in to the dashboard. */
export const signInsTable = table('sign_ins', {
  /** SHA-256 of the token in the cookie. */
  hash: text(),
  apiKeyId: text(),
  expiresAt: time(),
});
