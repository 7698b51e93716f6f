import type { CredentialSelector } from '../../contract/auth-connections.ts';
import type { CredentialProvider } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import { isWithin } from './robot/allowed-domains.ts';
import type { EnteredValue, StoredLogin } from './stored-login.ts';
import { totpCode } from '../credentials/totp.ts';
import type { Vaults } from '../credentials/vault.ts';
import type { Clock } from '../process/clock.ts';
import type { CredentialProviderStore } from '../credentials/credential-providers.ts';
import type { CredentialStore } from '../credentials/credentials.ts';

type ProviderSelector = Extract<CredentialSelector, { provider: string }>;

type SavedLogin = { name: string; domain: string; entered: EnteredValue[]; ssoProvider: string | undefined };

/** A connection that uses a credential. */
export type CredentialUser = { projectId: string; domain: string; grantedDomains?: string[] | undefined };

/** Reads and saves the credentials that logins use: stored ones, and those in providers' vaults. */
export class StoredCredentials {
  readonly #credentials: CredentialStore;
  readonly #providers: CredentialProviderStore;
  readonly #vaults: Vaults;
  readonly #clock: Clock;

  constructor(options: {
    credentials: CredentialStore;
    providers: CredentialProviderStore;
    vaults: Vaults;
    clock: Clock;
  }) {
    this.#credentials = options.credentials;
    this.#providers = options.providers;
    this.#vaults = options.vaults;
    this.#clock = options.clock;
  }

  /**
   * Reads the values for a login. `undefined` if the credential doesn't exist. Rejects if the provider doesn't answer.
   */
  async read(
    connection: CredentialUser,
    selector: CredentialSelector,
    signal: AbortSignal,
  ): Promise<StoredLogin | undefined> {
    if ('provider' in selector) return await this.#inVault(connection, selector, signal);
    const { projectId } = connection;
    const { name } = selector;
    if (!this.inspect(projectId, selector).exists) return undefined;
    const { domain, has_totp_secret: hasTotp, sso_provider: ssoProvider } = this.#credentials.get(projectId, name);
    const secret = hasTotp ? this.#credentials.totpSecret(projectId, name) : undefined;
    return {
      values: this.#credentials.values(projectId, name),
      totpCode: this.#codesOf(secret),
      ssoProvider: ssoProvider ?? undefined,
      domains: [domain],
    };
  }

  /**
   * Checks whether the credential exists, whether the project may use it, and whether it has a secret for one-time
   * codes. Doesn't ask providers for their items. `isGranted`: an organization key chose the credential.
   */
  inspect(
    projectId: string,
    selector: CredentialSelector,
    isGranted = false,
  ): { exists: boolean; hasTotpSecret: boolean } {
    if ('provider' in selector) {
      return { exists: this.#provider(projectId, selector.provider, isGranted) !== undefined, hasTotpSecret: true };
    }
    try {
      return { exists: true, hasTotpSecret: this.#credentials.get(projectId, selector.name).has_totp_secret === true };
    } catch (error) {
      if (error instanceof OperationError && error.code === 'not_found') return { exists: false, hasTotpSecret: false };
      throw error;
    }
  }

  /**
   * Adds entered values to the credential of this name, or creates the credential. A new one is for the connection's
   * domain if a value was entered there, else for the host of the last value. Drops values from other sites, because a
   * later login would type them into this one.
   */
  save(projectId: string, { name, domain: ownDomain, entered, ssoProvider }: SavedLogin): void {
    const sso = ssoProvider !== undefined && { sso_provider: ssoProvider };
    const exists = this.inspect(projectId, { name }).exists;
    const last = entered.at(-1)?.origin ?? '';
    const isOwn = !URL.canParse(last) || entered.some(({ origin }) => isWithin(origin, ownDomain));
    const newDomain = isOwn ? ownDomain : new URL(last).host;
    const domain = exists ? this.#credentials.get(projectId, name).domain : newDomain;
    const kept = entered.filter(({ origin }) => isWithin(origin, domain));
    const values = Object.fromEntries(kept.map(({ ref, value }) => [ref, value]));
    if (exists) this.#credentials.update(projectId, name, { values, ...sso });
    else this.#credentials.create(projectId, { name, domain, values, ...sso });
  }

  /** Unless an organization key chose it, an item must have a URL of the connection's domain. */
  async #inVault(
    { projectId, domain, grantedDomains }: CredentialUser,
    selector: ProviderSelector,
    signal: AbortSignal,
  ): Promise<StoredLogin> {
    const provider = this.#provider(projectId, selector.provider, grantedDomains !== undefined);
    const path = 'path' in selector ? selector.path : undefined;
    const which = { path, domain: path !== undefined && grantedDomains ? undefined : domain };
    const login = provider && (await this.#vaults.login(this.#providers.access(provider.id), which, signal));
    if (!login) {
      const item = path === undefined ? 'item' : `item ${path}`;
      throw new OperationError(
        'not_found',
        `the credential provider ${selector.provider} has no ${item} for ${domain} that this project may use: an organization key can grant it`,
      );
    }
    const { values, totpSecret, hosts } = login;
    const domains = [...hosts, ...(grantedDomains ?? [])];
    return { values, totpCode: this.#codesOf(totpSecret), ssoProvider: undefined, domains };
  }

  #provider(projectId: string, name: string, isGranted: boolean): CredentialProvider | undefined {
    const provider = this.#providers.enabledNamed(name);
    return isGranted || provider?.project_ids?.includes(projectId) ? provider : undefined;
  }

  #codesOf(secret: string | undefined): () => string | undefined {
    return () => (secret === undefined ? undefined : totpCode(secret, this.#clock.now()).code);
  }
}
