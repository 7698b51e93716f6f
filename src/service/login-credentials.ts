import type { CredentialSelector } from '../contract/auth-connections.ts';
import { OperationError } from '../contract/errors.ts';
import type { LoginCredentials, StoredLogin } from './auth/stored-login.ts';
import { totpCode } from './auth/totp.ts';
import type { Vaults } from './auth/vault.ts';
import type { Clock } from './clock.ts';
import type { CredentialProviderStore } from './store/credential-providers.ts';
import type { CredentialStore } from './store/credentials.ts';

type ProviderSelector = Extract<CredentialSelector, { provider: string }>;

/** The credentials of the store, and those of providers, as logins need them. */
export class StoredCredentials implements LoginCredentials {
  readonly #credentials: CredentialStore;
  readonly #providers: CredentialProviderStore;
  readonly #vaults: Vaults;
  readonly #clock: Clock;

  constructor(options: { credentials: CredentialStore; providers: CredentialProviderStore; vaults: Vaults; clock: Clock }) {
    this.#credentials = options.credentials;
    this.#providers = options.providers;
    this.#vaults = options.vaults;
    this.#clock = options.clock;
  }

  async read(projectId: string, selector: CredentialSelector, domain: string, signal: AbortSignal): Promise<StoredLogin | undefined> {
    if ('provider' in selector) return await this.#inVault(selector, domain, signal);
    const { name } = selector;
    if (!this.look(projectId, selector).exists) return undefined;
    const { has_totp_secret: hasTotp, sso_provider: ssoProvider } = this.#credentials.get(projectId, name);
    const secret = hasTotp ? this.#credentials.totpSecret(projectId, name) : undefined;
    return { values: this.#credentials.values(projectId, name), totpCode: this.#codesOf(secret), ssoProvider: ssoProvider ?? undefined };
  }

  look(projectId: string, selector: CredentialSelector): { exists: boolean; hasTotpSecret: boolean } {
    if ('provider' in selector) {
      return { exists: this.#providers.enabledNamed(selector.provider) !== undefined, hasTotpSecret: true };
    }
    try {
      return { exists: true, hasTotpSecret: this.#credentials.get(projectId, selector.name).has_totp_secret === true };
    } catch (error) {
      if (error instanceof OperationError && error.code === 'not_found') return { exists: false, hasTotpSecret: false };
      throw error;
    }
  }

  save(projectId: string, login: Parameters<LoginCredentials['save']>[1]): void {
    const { name, domain, values, ssoProvider } = login;
    const sso = ssoProvider !== undefined && { sso_provider: ssoProvider };
    if (this.look(projectId, { name }).exists) this.#credentials.update(projectId, name, { values, ...sso });
    else this.#credentials.create(projectId, { name, domain, values, ...sso });
  }

  async #inVault(selector: ProviderSelector, domain: string, signal: AbortSignal): Promise<StoredLogin | undefined> {
    const provider = this.#providers.enabledNamed(selector.provider);
    const which = 'path' in selector ? { path: selector.path } : { domain };
    const login = provider && (await this.#vaults.login(this.#providers.access(provider.id), which, signal));
    return login && { values: login.values, totpCode: this.#codesOf(login.totpSecret), ssoProvider: undefined };
  }

  #codesOf(secret: string | undefined): () => string | undefined {
    return () => (secret === undefined ? undefined : totpCode(secret, this.#clock.now()).code);
  }
}
