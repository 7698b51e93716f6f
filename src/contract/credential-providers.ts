import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { httpUrl, label, timestamp, pageQuery } from './values.ts';

const providerType = z.enum(['onepassword']);
const token = z
  .string()
  .min(1)
  .max(8192)
  .regex(/^[\x21-\x7e]*$/, 'must consist of ASCII characters without spaces');
const cacheTtl = z.int().min(0).max(86_400).describe('How long the service caches the list of items, in seconds');

const projectIds = z
  .array(z.string())
  .max(1000)
  .describe(
    "The projects whose keys may use it in auth connections (this service's own field); organization keys always may",
  );

/** The URL of a 1Password Connect server. */
const address = httpUrl.regex(/^[^?#@]*$/, 'must not contain a user, a query or a fragment');

/** A password vault outside of the service. No answer contains its token and address. */
export const credentialProvider = z.looseObject({
  id: z.string(),
  provider_type: providerType,
  name: z.string(),
  enabled: z.boolean().describe('Whether the service looks credentials up there'),
  priority: z.int().describe('The service asks the provider with the lowest number first'),
  created_at: timestamp,
  updated_at: timestamp,
  project_ids: projectIds.optional(),
});

export type CredentialProvider = z.output<typeof credentialProvider>;

const providerCreate = z.strictObject({
  provider_type: providerType,
  name: label.describe('Unique in the organization'),
  token,
  cache_ttl_seconds: cacheTtl.default(300),
  project_ids: projectIds.optional(),
  address: address
    .optional()
    .describe("URL of the vault (this service's own field); without it the provider is never asked"),
});

export type CredentialProviderCreate = z.output<typeof providerCreate>;

const providerUpdate = z
  .strictObject({
    name: label.optional(),
    enabled: z.boolean().optional(),
    priority: z.int().optional(),
    token: token.optional(),
    cache_ttl_seconds: cacheTtl.optional(),
    project_ids: projectIds.optional(),
    address: z.literal('').or(address).optional().describe("The empty string clears it (this service's own field)"),
  })
  .prefault({});

export type CredentialProviderUpdate = z.output<typeof providerUpdate>;

const vault = z.looseObject({ id: z.string(), name: z.string() });

const testResult = z.looseObject({
  success: z.boolean(),
  vaults: z.array(vault).describe('The vaults that the token can read'),
  error: z.string().optional().describe('The reason of a failure'),
});

const item = z.looseObject({
  id: z.string(),
  title: z.string(),
  vault_id: z.string(),
  vault_name: z.string(),
  path: z.string().describe('`Vault/Item`'),
  urls: z.array(z.string()).optional(),
});

export type CredentialProviderItem = z.output<typeof item>;

/** The operations on credential providers: password vaults that the service asks for login data. */
export const credentialProviders = {
  create: operation('POST /org/credential_providers', 'Add a vault that has credentials', {
    scope: 'organization',
    body: providerCreate,
    responses: { 201: json(credentialProvider) },
    errors: [409],
  }),
  list: operation('GET /org/credential_providers', 'List credential providers, newest first', {
    scope: 'organization',
    query: pageQuery.extend({ query: z.string().optional().describe('Part of the name, or an id') }),
    responses: { 200: list(credentialProvider) },
  }),
  retrieve: operation('GET /org/credential_providers/{id}', 'Get a credential provider', {
    scope: 'organization',
    responses: { 200: json(credentialProvider) },
  }),
  update: operation('PATCH /org/credential_providers/{id}', 'Change a credential provider', {
    scope: 'organization',
    body: providerUpdate,
    responses: { 200: json(credentialProvider) },
    errors: [409],
  }),
  delete: operation('DELETE /org/credential_providers/{id}', 'Delete a credential provider', {
    scope: 'organization',
    responses: { 204: empty },
  }),
  test: operation(
    'POST /org/credential_providers/{id}/test',
    "Try the provider's token and list the vaults that it can read",
    { scope: 'organization', responses: { 200: json(testResult) } },
  ),
  listItems: operation(
    'GET /org/credential_providers/{id}/items',
    'List the login items in the vaults of the provider',
    { scope: 'organization', responses: { 200: json(z.looseObject({ items: z.array(item) })) }, errors: [409] },
  ),
};
