import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import { httpUrl, label, timestamp } from './values.ts';

const providerType = z.enum(['onepassword']);
const token = z
  .string()
  .min(1)
  .max(8192)
  .regex(/^[\x21-\x7e]*$/, 'must have no spaces and be of ASCII characters');
const cacheTtl = z.int().min(0).max(86_400).describe('How long the list of items is kept');

/** Where a vault answers, as 1Password Connect does. */
const address = httpUrl.regex(/^[^?#@]*$/, 'must have no user, query and fragment');

/** A vault outside of the service from which credentials are taken. Its token is never told. */
const credentialProvider = z.looseObject({
  id: z.string(),
  provider_type: providerType,
  name: z.string(),
  enabled: z.boolean().describe('Whether credentials are looked up there'),
  priority: z.int().describe('The provider with the lowest number is asked first'),
  created_at: timestamp,
  updated_at: timestamp,
  address: z.string().optional().describe("Where the vault answers (this service's own field)"),
  cache_ttl_seconds: z.int().optional().describe("This service's own field"),
});

export type CredentialProvider = z.output<typeof credentialProvider>;

const providerCreate = z.strictObject({
  provider_type: providerType,
  name: label.describe('Unique in the organization'),
  token,
  cache_ttl_seconds: cacheTtl.default(300),
  address: address.optional().describe("Where the vault answers (this service's own field); without it nothing is ever asked of it"),
});

export type CredentialProviderCreate = z.output<typeof providerCreate>;

const providerUpdate = z
  .strictObject({
    name: label.optional(),
    enabled: z.boolean().optional(),
    priority: z.int().min(0).max(1_000_000).optional(),
    token: token.optional(),
    cache_ttl_seconds: cacheTtl.optional(),
    address: z.literal('').or(address).optional().describe("The empty string clears it (this service's own field)"),
  })
  .prefault({});

export type CredentialProviderUpdate = z.output<typeof providerUpdate>;

const vault = z.looseObject({ id: z.string(), name: z.string() });

const testResult = z.looseObject({
  success: z.boolean(),
  vaults: z.array(vault).describe('Those that the token opens'),
  error: z.string().optional().describe('What is wrong, where it was no success'),
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

export const credentialProviders = {
  create: operation({
    method: 'POST',
    path: '/org/credential_providers',
    summary: 'Add a vault from which credentials are taken',
    scope: 'organization',
    body: providerCreate,
    responses: { 201: json(credentialProvider) },
    errors: [409],
  }),
  list: operation({
    method: 'GET',
    path: '/org/credential_providers',
    summary: 'List credential providers, newest first',
    scope: 'organization',
    query: pageQuery.extend({ query: z.string().optional().describe('Part of the name, or an id') }),
    responses: { 200: list(credentialProvider) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/org/credential_providers/{id}',
    summary: 'Get a credential provider',
    scope: 'organization',
    responses: { 200: json(credentialProvider) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/org/credential_providers/{id}',
    summary: 'Change a credential provider',
    scope: 'organization',
    body: providerUpdate,
    responses: { 200: json(credentialProvider) },
    errors: [404, 409],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/org/credential_providers/{id}',
    summary: 'Delete a credential provider',
    scope: 'organization',
    responses: { 204: empty },
    errors: [404],
  }),
  test: operation({
    method: 'POST',
    path: '/org/credential_providers/{id}/test',
    summary: "Try the provider's token, and list the vaults that it opens",
    scope: 'organization',
    responses: { 200: json(testResult) },
    errors: [404],
  }),
  listItems: operation({
    method: 'GET',
    path: '/org/credential_providers/{id}/items',
    summary: 'List the login items in the vaults of the provider',
    scope: 'organization',
    responses: { 200: json(z.looseObject({ items: z.array(item) })) },
    errors: [404, 409],
  }),
};
