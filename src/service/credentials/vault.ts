import { z } from 'zod';
import type { CredentialProviderItem } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';

/** How to reach a provider's vaults. `version` changes whenever any of these fields changes. */
export type VaultAccess = {
  id: string;
  /** The provider's name, for messages. */
  name: string;
  version: number;
  address: string | undefined;
  token: string;
  /** How long the list of the vault's items is cached, in ms. */
  cacheTtlMs: number;
};

export type Vault = { id: string; name: string };

/** The login in an item of a vault: values by their names, and the secret of one-time codes in base32. */
export type VaultLogin = {
  values: Record<string, string>;
  totpSecret: string | undefined;
  /** The hosts of its URLs, with ports that aren't the default. */
  hosts: string[];
};

const vaults = z.array(z.object({ id: z.string(), name: z.string() }));

const items = z.array(
  z.object({
    id: z.string(),
    title: z.string(),
    category: z.string().optional(),
    urls: z.array(z.object({ href: z.string() })).nullish(),
  }),
);

const item = z.object({
  fields: z
    .array(
      z.object({
        label: z.string().optional(),
        purpose: z.string().optional(),
        type: z.string().optional(),
        value: z.string().nullish(),
      }),
    )
    .default([]),
});

/** The time that the vault has for one request of the service, in ms, and the largest answer. */
const timeoutMs = 10_000;
const largestAnswer = 16 * 1024 * 1024;

/** Reads vaults that speak the protocol of 1Password Connect. Sends requests only to the address of the provider. */
export class Vaults {
  readonly #clock: Clock;
  /** The cached items, by the provider's id. */
  readonly #known = new Map<string, { version: number; until: number; items: CredentialProviderItem[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The vaults that the token opens. Throws `conflict` if the provider needs another address or token, `unavailable` if
   * the vault doesn't answer correctly, and the signal's reason.
   */
  async vaults(access: VaultAccess, signal: AbortSignal): Promise<Vault[]> {
    return await this.#within(access, signal, (deadline) => ask(access, '/v1/vaults', vaults, deadline));
  }

  /** The logins in all vaults that the token opens. Throws like `vaults`. */
  async items(access: VaultAccess, signal: AbortSignal): Promise<CredentialProviderItem[]> {
    const known = this.#known.get(access.id);
    if (known?.version === access.version && this.#clock.now() < known.until) return known.items;
    const found = await this.#within(access, signal, async (deadline) => {
      const all = await ask(access, '/v1/vaults', vaults, deadline);
      return (await Promise.all(all.map((vault) => itemsIn(access, vault, deadline)))).flat();
    });
    this.#known.set(access.id, { version: access.version, until: this.#clock.now() + access.cacheTtlMs, items: found });
    return found;
  }

  /**
   * The first login with the path `Vault/Item`, if a path is given, and with a URL on the domain or its subdomains, if
   * a domain is given; else `undefined`. Throws like `vaults`.
   */
  async login(
    access: VaultAccess,
    { path: wanted, domain }: { path?: string | undefined; domain?: string | undefined },
    signal: AbortSignal,
  ): Promise<VaultLogin | undefined> {
    const all = await this.items(access, signal);
    const found = all.find(
      ({ path, urls = [] }) =>
        (wanted === undefined || path === wanted) && (domain === undefined || urls.some((url) => isOn(domain, url))),
    );
    if (!found) return undefined;
    const hosts = (found.urls ?? []).flatMap((url) => hostOf(url) ?? []);
    const path = `/v1/vaults/${encodeURIComponent(found.vault_id)}/items/${encodeURIComponent(found.id)}`;
    const details = await this.#within(access, signal, (deadline) => ask(access, path, item, deadline));
    return { ...loginIn(details), hosts };
  }

  /** Drops the cached items of a deleted provider. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Runs `work` with a signal that also aborts after the time limit. */
  async #within<T>({ name }: VaultAccess, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const reason = new OperationError(
      'unavailable',
      `the vault of ${name} did not answer within ${timeoutMs / 1000} s: check its address`,
    );
    const cancel = this.#clock.after(timeoutMs, () => late.abort(reason));
    try {
      return await work(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
    }
  }
}

async function itemsIn(access: VaultAccess, vault: Vault, signal: AbortSignal): Promise<CredentialProviderItem[]> {
  const found = await ask(access, `/v1/vaults/${encodeURIComponent(vault.id)}/items`, items, signal);
  return found
    .filter(({ category = 'LOGIN' }) => category === 'LOGIN')
    .map(({ id, title, urls }) => ({
      id,
      title,
      vault_id: vault.id,
      vault_name: vault.name,
      path: `${vault.name}/${title}`,
      urls: urls?.map(({ href }) => href) ?? [],
    }));
}

/** Recognizes user name and password by their purpose, because their labels may be in any language. */
function loginIn({ fields }: z.output<typeof item>): Omit<VaultLogin, 'hosts'> {
  const named = fields.flatMap(({ label, purpose, type, value }) => {
    const name = purpose === 'USERNAME' || purpose === 'PASSWORD' ? purpose.toLowerCase() : label;
    return value && name && type !== 'OTP' && purpose !== 'NOTES' ? [[name, value] as const] : [];
  });
  const oneTime = fields.find(({ type, value }) => type === 'OTP' && value)?.value;
  return { values: Object.fromEntries(named), totpSecret: oneTime ? secretIn(oneTime) : undefined };
}

/** The field has the secret itself, or a URI for authenticator apps. */
function secretIn(text: string): string | undefined {
  const secret = URL.canParse(text) ? new URL(text).searchParams.get('secret') : text;
  const plain = secret?.replaceAll(/[\s=-]/g, '').toUpperCase() ?? '';
  return /^[A-Z2-7]+$/.test(plain) ? plain : undefined;
}

/**
 * Whether a URL is on the domain or below it. An item for a parent domain may belong to another owner of a subdomain.
 */
function isOn(domain: string, url: string): boolean {
  const host = hostOf(url)?.replace(/^www\./, '');
  const own = domain.replace(/^www\./, '');
  return host === own || host?.endsWith(`.${own}`) === true;
}

/** Accepts URLs with and without `https://`, because people write both. */
function hostOf(url: string): string | undefined {
  const absolute = url.includes('://') ? url : `https://${url}`;
  return URL.canParse(absolute) ? new URL(absolute).host : undefined;
}

/** Errors don't repeat the vault's answer, because it may contain the token. */
async function ask<S extends z.ZodType>(
  { name, address, token }: VaultAccess,
  path: string,
  schema: S,
  signal: AbortSignal,
) {
  if (address === undefined) {
    throw new OperationError(
      'conflict',
      `the credential provider ${name} has no address: update it with the address of its vault`,
    );
  }
  const fail = (problem: string, cause?: unknown) =>
    new OperationError('unavailable', `the vault of ${name} ${problem}`, { cause });
  try {
    const response = await fetch(`${address.replace(/\/+$/, '')}${path}`, {
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      // The token is for this address alone.
      redirect: 'manual',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw refusal(name, response.status);
    }
    const { data } = schema.safeParse(JSON.parse(await text(response)));
    if (data === undefined) throw fail(notAVault);
    return data;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OperationError) throw error;
    if (error instanceof SyntaxError || error instanceof RangeError) throw fail(notAVault);
    throw fail(`cannot be reached${reasonOf(error)}: check its address, and whether it runs`);
  }
}

const notAVault = 'did not answer like a 1Password Connect server: check its address';

function refusal(name: string, status: number): OperationError {
  if (status === 401 || status === 403) {
    return new OperationError(
      'conflict',
      `the vault of ${name} refuses the token (${status}): update the provider with a valid token`,
    );
  }
  if (status >= 300 && status < 400) {
    return new OperationError(
      'conflict',
      `the vault of ${name} redirects to another address (${status}), and the service sends no token there: update the provider's address`,
    );
  }
  return new OperationError('unavailable', `the vault of ${name} answered with the status ${status}`);
}

/** Throws a `RangeError` for an answer that is too long. */
async function text({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > largestAnswer) throw new RangeError('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The code of the failed connection, which names no secrets. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
}
