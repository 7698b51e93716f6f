import { isWithin } from './robot/allowed-domains.ts';
import type { LoginChoice, LoginField, LoginForm, LoginInput } from './reading/login-form.ts';

/** The stored values for a login. */
export type StoredLogin = {
  /** By the `ref`s of fields. */
  values: Record<string, string>;
  /** Returns the current code of the authenticator app; `undefined` if its secret isn't stored. */
  totpCode: () => string | undefined;
  ssoProvider: string | undefined;
  /** The domains into whose pages, and those of their subdomains, the values may be typed. */
  domains: readonly string[];
};

/** The usual names of identifiers in credentials. */
const identifiers = ['email', 'username', 'phone', 'identifier', 'login', 'user'];

/** Whether a credential may be typed into a form. */
export function isFor({ domains }: StoredLogin, { origin = '' }: LoginForm): boolean {
  return domains.some((domain) => isWithin(origin, domain));
}

/** The values that a credential has for a form. */
export function storedValues(form: LoginForm, stored: StoredLogin): Record<string, string> {
  const fields = isFor(stored, form) ? form.fields : [];
  const found = fields.map((field) => [field.id, storedValue(field, stored)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Whether values answer everything that a form requires. */
export function covers(values: Record<string, string>, { fields }: LoginForm): boolean {
  return (
    fields.some(({ id }) => values[id] !== undefined) &&
    fields.every(({ id, required }) => !required || values[id] !== undefined)
  );
}

/** The choice that a credential makes: its SSO provider, codes of its authenticator app, its password, its account. */
export function storedChoice({ choices }: LoginForm, stored: StoredLogin): LoginChoice | undefined {
  const { values, ssoProvider } = stored;
  const hasCode = stored.totpCode() !== undefined;
  const names = Object.entries(values).flatMap(([ref, value]) => (ref === 'password' ? [] : [value.toLowerCase()]));
  return (
    choices.find(
      ({ type, provider }) => type === 'sso_provider' && provider !== undefined && provider === ssoProvider,
    ) ??
    choices.find(({ type, mfa_type }) => type === 'mfa_method' && mfa_type === 'totp' && hasCode) ??
    choices.find(
      ({ type, mfa_type }) => type === 'auth_method' && mfa_type === 'password' && values['password'] !== undefined,
    ) ??
    choices.find(({ type, label, description = '' }) => {
      const text = `${label} ${description}`.toLowerCase();
      return type === 'account' && names.some((name) => text.includes(name));
    })
  );
}

/** A value that a person entered into a field with this `ref`, on a page of this origin. */
export type EnteredValue = { ref: string; value: string; origin: string };

/** The values of an input that may be stored in a credential: all except one-time codes. */
export function keptValues({ fields, origin = '' }: LoginForm, { values = {} }: LoginInput): EnteredValue[] {
  return fields.flatMap(({ id, ref, type }) => {
    const value = values[id];
    return value === undefined || type === 'code' || type === 'totp_code' ? [] : [{ ref, value, origin }];
  });
}

function storedValue(field: LoginField, { values, totpCode }: StoredLogin): string | undefined {
  const { type, ref, linked_mfa_type } = field;
  if (type === 'totp_code') return totpCode();
  if (type === 'code') return linked_mfa_type === undefined || linked_mfa_type === 'totp' ? totpCode() : undefined;
  const own = values[ref];
  if (own !== undefined || type !== 'identifier') return own;
  return identifiers.map((name) => values[name]).find((value) => value !== undefined);
}
