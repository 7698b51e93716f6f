import type { CredentialSelector } from '../../contract/auth-connections.ts';
import type { CredentialProvider } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { ConnectionRecord } from './connections-table.ts';
import { isWithin } from './robot/allowed-domains.ts';
import type { EnteredValue, StoredLogin } from './stored-login.ts';
import { totpCode } from '../credentials/totp.ts';
import type { Vaults } from '../credentials/vault.ts';
import type { Clock } from '../process/clock.ts';
import type { CredentialProviderStore } from '../credentials/credential-providers.ts';
import type { CredentialStore } from '../credentials/credentials.ts';

type Options = {
  credentials: CredentialStore;
  providers: CredentialProviderStore;
  vaults: Vaults;
  clock: Clock;
};

type ProviderSelector = Extract<CredentialSelector, { provider: string }>;

type SavedLogin = { name: string; domain: string; entered: EnteredValue[]; ssoProvider: string | undefined };

/** A connection that uses a credential. */
type CredentialUser = Pick<ConnectionRecord, 'projectId' | 'domain' | 'settings'>;

/** Reads and saves the credentials that logins use: stored ones, and those in providers' vaults. */
export class StoredCredentials {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
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
    const { credentials } = this.#options;
    const { projectId } = connection;
    const { name } = selector;
    if (!this.inspect(projectId, selector).exists) return undefined;
    const { domain, has_totp_secret: hasTotp, sso_provider: ssoProvider } = credentials.get(projectId, name);
    const secret = hasTotp ? credentials.totpSecret(projectId, name) : undefined;
    return {
      values: credentials.values(projectId, name),
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
      return {
        exists: true,
        hasTotpSecret: this.#options.credentials.get(projectId, selector.name).has_totp_secret === true,
      };
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
    const { credentials } = this.#options;
    const sso = ssoProvider !== undefined && { sso_provider: ssoProvider };
    const exists = this.inspect(projectId, { name }).exists;
    const last = entered.at(-1)?.origin ?? '';
    const isOwn = !URL.canParse(last) || entered.some(({ origin }) => isWithin(origin, ownDomain));
    const newDomain = isOwn ? ownDomain : new URL(last).host;
    const domain = exists ? credentials.get(projectId, name).domain : newDomain;
    const kept = entered.filter(({ origin }) => isWithin(origin, domain));
    const values = Object.fromEntries(kept.map(({ ref, value }) => [ref, value]));
    if (exists) credentials.update(projectId, name, { values, ...sso });
    else credentials.create(projectId, { name, domain, values, ...sso });
  }

  /** Unless an organization key chose it, an item must have a URL of the connection's domain. */
  async #inVault(
    { projectId, domain, settings: { grantedDomains: granted } }: CredentialUser,
    selector: ProviderSelector,
    signal: AbortSignal,
  ): Promise<StoredLogin> {
    const provider = this.#provider(projectId, selector.provider, granted !== undefined);
    const path = 'path' in selector ? selector.path : undefined;
    const which = { path, domain: path !== undefined && granted ? undefined : domain };
    const { vaults, providers } = this.#options;
    const login = provider && (await vaults.login(providers.access(provider.id), which, signal));
    if (!login) {
      const item = path === undefined ? 'item' : `item ${path}`;
      throw new OperationError(
        'not_found',
        `the credential provider ${selector.provider} has no ${item} for ${domain} that this project may use: an organization key can grant it`,
      );
    }
    const { values, totpSecret, hosts } = login;
    const domains = [...hosts, ...(granted ?? [])];
    return { values, totpCode: this.#codesOf(totpSecret), ssoProvider: undefined, domains };
  }

  #provider(projectId: string, name: string, isGranted: boolean): CredentialProvider | undefined {
    const provider = this.#options.providers.enabledNamed(name);
    return isGranted || provider?.project_ids?.includes(projectId) ? provider : undefined;
  }

  #codesOf(secret: string | undefined): () => string | undefined {
    return () => (secret === undefined ? undefined : totpCode(secret, this.#options.clock.now()).code);
  }
}
