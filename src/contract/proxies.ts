import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { httpUrl, label, timestamp, pageQuery } from './values.ts';

const proxyType = z.enum(['datacenter', 'isp', 'residential', 'mobile', 'custom']);
const protocol = z.enum(['http', 'https']);

/** The name of a proxy. Names need not be unique, because operations find a proxy by its id only. */
const proxyName = z.string().trim().pipe(label);

const bypassHosts = z
  .array(
    z
      .string()
      .max(253)
      .regex(
        /^(\*?\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/,
        'must be a host name or IPv4 address; `*.` before a domain includes its subdomains',
      ),
  )
  .max(100);

const place = z.string().min(1).max(255).optional();
const country = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'must be an ISO 3166 code of two letters')
  .optional();

const customConfig = z.strictObject({
  host: z
    .string()
    .max(253)
    .refine(
      (host) => /^[A-Za-z0-9._-]+$/.test(host) || z.ipv6().safeParse(host).success,
      'must be a host name or an IP address',
    ),
  port: z.int().min(1).max(65_535),
  username: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[^:\p{Cc}]*$/u, 'must not contain colons and control characters')
    .optional(),
  password: z.string().min(5).max(1024).optional(),
  ca_bundle: z
    .string()
    .max(65_536)
    .regex(/-----BEGIN CERTIFICATE-----/, 'must contain certificates in PEM format (-----BEGIN CERTIFICATE-----)')
    .optional()
    .describe('Certificate authorities to trust instead of the usual ones, for a proxy that is reached by https'),
});

const proxyFields = {
  name: proxyName.optional(),
  protocol: protocol.default('https').describe('How browsers reach the proxy itself'),
  bypass_hosts: bypassHosts
    .default([])
    .describe('Hosts to which browsers connect directly, as they always do to loopback addresses'),
};

const proxyCreate = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('custom'), ...proxyFields, config: customConfig }),
  z.strictObject({
    type: z.enum(['datacenter', 'isp']),
    ...proxyFields,
    config: z.strictObject({ country }).optional(),
  }),
  z.strictObject({
    type: z.literal('residential'),
    ...proxyFields,
    config: z
      .strictObject({
        country,
        state: place,
        city: place,
        zip: place,
        asn: place,
        os: z.enum(['windows', 'macos', 'android']).optional().describe('Deprecated'),
      })
      .optional(),
  }),
  z.strictObject({
    type: z.literal('mobile'),
    ...proxyFields,
    config: z.strictObject({ country, state: place, city: place }).optional(),
  }),
]);

/** A proxy that browsers use for their connections. */
export const proxy = z.looseObject({
  id: z.string().optional(),
  type: proxyType,
  name: z.string().optional(),
  protocol: protocol.optional(),
  bypass_hosts: z.array(z.string()).optional(),
  status: z
    .enum(['available', 'unavailable'])
    .optional()
    .describe('Result of the last check; missing before the first check'),
  status_reason: z.string().optional().describe("Why it is unavailable (this service's own field)"),
  last_checked: timestamp.optional(),
  ip_address: z.string().optional().describe('The address that its requests come from, if known'),
  config: z
    .looseObject({
      country: z.string().optional(),
      host: z.string().optional(),
      port: z.int().optional(),
      username: z.string().optional(),
      has_password: z.boolean().optional(),
      has_ca_bundle: z.boolean().optional(),
    })
    .optional()
    .describe('Without the password and the certificates'),
});

export type BrowserProxy = z.output<typeof proxy>;

/** The URL that a check requests by default. */
export const defaultCheckUrl = 'http://example.com/';

/** The operations on the proxies that browsers use. */
export const proxies = {
  create: operation('POST /proxies', 'Add a proxy for browsers; the embedded service only accepts the type custom', {
    body: proxyCreate,
    responses: { 201: json(proxy) },
    errors: [501],
  }),
  list: operation('GET /proxies', 'List proxies, newest first', {
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name, host or IP address, ignoring case; or an id'),
      name: z.string().optional().describe('The whole name, ignoring case and accents'),
    }),
    responses: { 200: list(proxy) },
  }),
  retrieve: operation('GET /proxies/{id}', 'Get a proxy', { responses: { 200: json(proxy) } }),
  update: operation('PATCH /proxies/{id}', 'Rename a proxy', {
    body: z.strictObject({ name: proxyName }),
    responses: { 200: json(proxy) },
  }),
  delete: operation('DELETE /proxies/{id}', 'Delete a proxy; running browsers keep it', { responses: { 204: empty } }),
  check: operation('POST /proxies/{id}/check', 'Check whether a proxy answers a request', {
    body: z
      .strictObject({
        url: httpUrl
          .optional()
          .describe(`Default: ${defaultCheckUrl}. A check of another URL doesn't change the stored status`),
      })
      .prefault({}),
    responses: { 200: json(proxy) },
  }),
};
