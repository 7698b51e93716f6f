import type { CredentialSelector } from '../../contract/auth-connections.ts';
import type { LoginChoice, LoginField, LoginForm, LoginInput } from './login-form.ts';

/** What a credential holds for a login. */
export type StoredLogin = {
  /** By the `ref`s of fields. */
  values: Record<string, string>;
  /** The code of an authenticator app at this time; `undefined` when its secret is not stored. */
  totpCode: () => string | undefined;
  ssoProvider: string | undefined;
};

/** The credentials of a project, as logins need them. */
export type LoginCredentials = {
  /** `undefined` when there is none. Rejects when a provider can't be asked. */
  read(projectId: string, selector: CredentialSelector, domain: string, signal: AbortSignal): Promise<StoredLogin | undefined>;
  /** Whether there is one, and a secret for one-time codes in it; of what a provider has nothing is known. */
  look(projectId: string, selector: CredentialSelector): { exists: boolean; hasTotpSecret: boolean };
  /** Adds values to the credential of this name, or makes one. */
  save(projectId: string, login: { name: string; domain: string; values: Record<string, string>; ssoProvider: string | undefined }): void;
};

/** Names under which people store what identifies them. */
const identifiers = ['email', 'username', 'phone', 'identifier', 'login', 'user'];

/** The stored values for the fields of a form, by their ids. */
export function storedValues({ fields }: LoginForm, stored: StoredLogin): Record<string, string> {
  const found = fields.map((field) => [field.id, storedValue(field, stored)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Whether values answer everything that a form requires. */
export function covers(values: Record<string, string>, { fields }: LoginForm): boolean {
  return fields.some(({ id }) => values[id] !== undefined) && fields.every(({ id, required }) => !required || values[id] !== undefined);
}

/** The choice that a credential makes: its SSO provider, codes of its authenticator app, its password, its account. */
export function storedChoice({ choices }: LoginForm, stored: StoredLogin): LoginChoice | undefined {
  const { values, ssoProvider } = stored;
  const hasCode = stored.totpCode() !== undefined;
  const names = Object.entries(values).flatMap(([ref, value]) => (ref === 'password' ? [] : [value.toLowerCase()]));
  return (
    choices.find(({ type, provider }) => type === 'sso_provider' && provider !== undefined && provider === ssoProvider) ??
    choices.find(({ type, mfa_type }) => type === 'mfa_method' && mfa_type === 'totp' && hasCode) ??
    choices.find(({ type, mfa_type }) => type === 'auth_method' && mfa_type === 'password' && values['password'] !== undefined) ??
    choices.find(({ type, label, description = '' }) => {
      const text = `${label} ${description}`.toLowerCase();
      return type === 'account' && names.some((name) => text.includes(name));
    })
  );
}

/** What a credential is to keep of an input, by the `ref`s of fields. One-time codes are good for nothing later. */
export function keptValues({ fields }: LoginForm, { values = {} }: LoginInput): Record<string, string> {
  const kept = fields.filter(({ id, type }) => values[id] !== undefined && type !== 'code' && type !== 'totp_code');
  return Object.fromEntries(kept.map(({ id, ref }) => [ref, values[id]!]));
}

function storedValue(field: LoginField, { values, totpCode }: StoredLogin): string | undefined {
  const { type, ref, linked_mfa_type } = field;
  if (type === 'totp_code') return totpCode();
  if (type === 'code') return linked_mfa_type === undefined || linked_mfa_type === 'totp' ? totpCode() : undefined;
  const own = values[ref];
  if (own !== undefined || type !== 'identifier') return own;
  return identifiers.map((name) => values[name]).find((value) => value !== undefined);
}
