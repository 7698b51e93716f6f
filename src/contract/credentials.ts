import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { asHost, domain, label, timestamp, pageQuery } from './values.ts';

const values = z
  .record(
    z
      .string()
      .min(1)
      .max(128)
      .refine((name) => !name.includes('\0'), 'must not contain a NUL character'),
    z.string().max(8192),
  )
  .refine((fields) => Object.keys(fields).length <= 100, 'must have at most 100 entries');

/** The secret of one-time codes (TOTP, RFC 6238), as sites show it: in upper or lower case, with spaces and hyphens. */
const totpSecret = z
  .string()
  .max(1024, { abort: true })
  .overwrite((text) => text.replaceAll(/[\s-]/g, '').replace(/=+$/, '').toUpperCase())
  .refine(
    (text) => /^[A-Z2-7]{8,}$/.test(text) && [0, 2, 4, 5, 7].includes(text.length % 8),
    'must be a complete base32 secret: at least 8 letters and digits 2 to 7',
  );

const ssoProvider = z.string().min(1).max(255).describe('The provider to sign in with, for example `google`');

/** Stored login data of a web site. No answer contains its values or its TOTP secret. */
export const credential = z.looseObject({
  id: z.string(),
  name: z.string(),
  domain: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  has_values: z.boolean().optional(),
  has_totp_secret: z.boolean().optional(),
  value_keys: z.array(z.string()).optional().describe('The names of the stored values; not in lists'),
  sso_provider: z.string().nullable().optional(),
  totp_code: z.string().optional().describe('The current code, in the answer to a request that set the secret'),
  totp_code_expires_at: timestamp.optional(),
});

export type Credential = z.output<typeof credential>;

const credentialCreate = z.strictObject({
  name: label.describe('Unique in the project'),
  domain: domain.describe(
    'The values are typed into pages of this domain and its subdomains only; with a port, of that port only',
  ),
  values: values.describe('For example `username` and `password`'),
  totp_secret: totpSecret.optional(),
  sso_provider: ssoProvider.optional(),
});

export type CredentialCreate = z.output<typeof credentialCreate>;

const credentialUpdate = z
  .strictObject({
    name: label.optional(),
    values: values.optional().describe('Replace stored values of the same names; the others stay'),
    remove_value_keys: z.array(z.string()).optional().describe('Removed before `values` are stored'),
    totp_secret: z.literal('').or(totpSecret).optional().describe('The empty string clears it'),
    sso_provider: z.literal('').or(ssoProvider).nullable().optional().describe('The empty string and null clear it'),
  })
  .prefault({});

export type CredentialUpdate = z.output<typeof credentialUpdate>;

const totpCode = z.looseObject({ code: z.string().regex(/^\d{6}$/), expires_at: timestamp });

/** The operations on stored login data. */
export const credentials = {
  create: operation('POST /credentials', 'Store the login data of a web site', {
    body: credentialCreate,
    responses: { 201: json(credential) },
    errors: [409],
  }),
  list: operation('GET /credentials', 'List credentials, newest first', {
    query: pageQuery.extend({
      domain: z.string().overwrite(asHost).optional().describe('The exact domain'),
      query: z.string().optional().describe('Part of the name or domain, or an id'),
    }),
    responses: { 200: list(credential) },
  }),
  retrieve: operation('GET /credentials/{id_or_name}', 'Get a credential', { responses: { 200: json(credential) } }),
  update: operation('PATCH /credentials/{id_or_name}', 'Change a credential, except its domain', {
    body: credentialUpdate,
    responses: { 200: json(credential) },
    errors: [409],
  }),
  delete: operation('DELETE /credentials/{id_or_name}', 'Delete a credential with its values', {
    responses: { 204: empty },
  }),
  totpCode: operation('GET /credentials/{id_or_name}/totp-code', 'Get the current code of the stored TOTP secret', {
    responses: { 200: json(totpCode) },
  }),
};
