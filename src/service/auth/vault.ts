import { z } from 'zod';
import type { CredentialProviderItem } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';

/** How a vault is reached. `version` is another one whenever anything here is. */
export type VaultAccess = {
  id: string;
  /** Of the provider, by which it is called in messages. */
  name: string;
  version: number;
  address: string | undefined;
  token: string;
  /** How long the list of its items is kept. */
  cacheTtlMs: number;
};

export type Vault = { id: string; name: string };

/** What an item of a vault holds for a login: values by their names, and the secret of one-time codes in base32. */
export type VaultLogin = { values: Record<string, string>; totpSecret: string | undefined };

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

/** How long the vault may take for all that one request needs, and how much it may say in one answer. */
const timeoutMs = 10_000;
const largestAnswer = 16 * 1024 * 1024;

/** Asks vaults that speak the protocol of 1Password Connect, at the address of their provider and nowhere else. */
export class Vaults {
  readonly #clock: Clock;
  /** The items of providers, by their ids. */
  readonly #known = new Map<string, { version: number; until: number; items: CredentialProviderItem[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The vaults that the token opens. Throws `conflict` where only another address or token helps, `unavailable` when the vault does not
   * answer as it should, and the signal's reason.
   */
  async vaults(access: VaultAccess, signal: AbortSignal): Promise<Vault[]> {
    return await this.#within(access, signal, (deadline) => ask(access, '/v1/vaults', vaults, deadline));
  }

  /** The logins in all vaults that the token opens. Throws as `vaults` does. */
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
   * The login with the path `Vault/Item`, or else the first one of which a URL is on the domain or below it; `undefined` when there
   * is none. Throws as `vaults` does.
   */
  async login(access: VaultAccess, which: { path: string } | { domain: string }, signal: AbortSignal): Promise<VaultLogin | undefined> {
    const all = await this.items(access, signal);
    const found = all.find(({ path, urls = [] }) => ('path' in which ? path === which.path : urls.some((url) => isOn(which.domain, url))));
    if (!found) return undefined;
    const path = `/v1/vaults/${encodeURIComponent(found.vault_id)}/items/${encodeURIComponent(found.id)}`;
    return loginIn(await this.#within(access, signal, (deadline) => ask(access, path, item, deadline)));
  }

  /** Forgets the items of a provider that is gone. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Gives `work` a signal that aborts when it takes too long, too. */
  async #within<T>({ name }: VaultAccess, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const reason = new OperationError('unavailable', `the vault of ${name} did not answer within ${timeoutMs / 1000} s: check its address`);
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

/** A user name and a password are known by their purposes, whatever they are called. */
function loginIn({ fields }: z.output<typeof item>): VaultLogin {
  const named = fields.flatMap(({ label, purpose, type, value }) => {
    const name = purpose === 'USERNAME' || purpose === 'PASSWORD' ? purpose.toLowerCase() : label;
    return value && name && type !== 'OTP' && purpose !== 'NOTES' ? [[name, value] as const] : [];
  });
  const oneTime = fields.find(({ type, value }) => type === 'OTP' && value)?.value;
  return { values: Object.fromEntries(named), totpSecret: oneTime ? secretIn(oneTime) : undefined };
}

/** It is kept as a secret, or as a URI of authenticator apps. */
function secretIn(text: string): string | undefined {
  const secret = URL.canParse(text) ? new URL(text).searchParams.get('secret') : text;
  const plain = secret?.replaceAll(/[\s=-]/g, '').toUpperCase() ?? '';
  return /^[A-Z2-7]+$/.test(plain) ? plain : undefined;
}

/** On the domain or below it: what is for a domain above may be for all who have a part of that. */
function isOn(domain: string, url: string): boolean {
  const absolute = url.includes('://') ? url : `https://${url}`;
  if (!URL.canParse(absolute)) return false;
  const host = new URL(absolute).host.replace(/^www\./, '');
  const own = domain.replace(/^www\./, '');
  return host === own || host.endsWith(`.${own}`);
}

/** What the vault says is never told: it may repeat the token. */
async function ask<S extends z.ZodType>({ name, address, token }: VaultAccess, path: string, schema: S, signal: AbortSignal) {
  if (address === undefined) {
    throw new OperationError(
      'conflict',
      `${name} has no address, and nothing is asked without one: update it with the address of its vault`,
    );
  }
  const fail = (problem: string, cause?: unknown) => new OperationError('unavailable', `the vault of ${name} ${problem}`, { cause });
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
    if (data === undefined) throw fail('answered something else than a vault does: check its address');
    return data;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OperationError) throw error;
    if (error instanceof SyntaxError || error instanceof RangeError)
      throw fail('answered something else than a vault does: check its address');
    throw fail(`cannot be reached${reasonOf(error)}: check its address, and whether it runs`);
  }
}

function refusal(name: string, status: number): OperationError {
  if (status === 401 || status === 403) {
    return new OperationError('conflict', `the vault of ${name} refuses the token (${status}): update the provider with one that opens it`);
  }
  if (status >= 300 && status < 400) {
    return new OperationError(
      'conflict',
      `the vault of ${name} leads elsewhere (${status}), where its token does not go: update its address`,
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
