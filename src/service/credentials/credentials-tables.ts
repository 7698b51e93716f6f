import type { CredentialProvider } from '../../contract/credential-providers.ts';
import { boolean, integer, json, optional, sealed, text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The stored credentials of web sites, without their values. */
export const credentialsTable = table('credentials', {
  id: text(),
  project_id: text(),
  /** Unique in the project. */
  name: text(),
  domain: text(),
  totp_secret: optional(sealed(({ id }) => `credential ${id} totp`)),
  sso_provider: optional(text()),
  created_at: time(),
  updated_at: time(),
}).with({ rules: ['UNIQUE (project_id, name)'] });

/** The values of credentials, by field name. */
export const credentialValuesTable = table('credential_values', {
  credential_id: text(),
  name: text(),
  value: sealed(({ credential_id, name }) => `credential ${credential_id} value ${name}`),
}).with({
  rules: ['PRIMARY KEY (credential_id, name)', 'FOREIGN KEY (credential_id) REFERENCES credentials ON DELETE CASCADE'],
});

/** The providers (vaults) that hold credentials outside of the service. */
export const credentialProvidersTable = table('credential_providers', {
  id: text(),
  provider_type: text<CredentialProvider['provider_type']>(),
  /** Unique in the organization. */
  name: text(),
  token: sealed(({ id }) => `credential provider ${id} token`),
  address: optional(text()),
  enabled: boolean(),
  priority: integer(),
  cache_ttl_seconds: integer(),
  /** The projects whose keys may use it. */
  project_ids: optional(json<string[]>()),
  created_at: time(),
  updated_at: time(),
}).with({ rules: ['UNIQUE (name)'] });
