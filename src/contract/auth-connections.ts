import { z } from 'zod';
import { asked, authConnectionEvent, flowStatus, flowStep, flowType, submission } from './login-flow.ts';
import { empty, events, json, list, operation } from './operation.ts';
import { asHost, domain, hostName, httpUrl, name, telemetryRequest, timestamp, pageQuery } from './values.ts';

const authStatus = z.enum(['AUTHENTICATED', 'NEEDS_AUTH']);

export type AuthStatus = z.output<typeof authStatus>;

const canReauthReason = z.enum([
  'external_credential',
  'cua_has_credential',
  'has_credential',
  'viable_plans_found',
  'no_requirements_recorded',
  'requirements_satisfiable',
  'no_prior_successful_login',
  'no_credential',
  'no_viable_plans',
  'viable_plans_require_external_action',
  'requires_external_action',
  'requires_totp_without_secret',
  'requires_sms_code',
  'requires_email_code',
]);

export type CanReauthReason = z.output<typeof canReauthReason>;

/**
 * The login data of a connection: a stored credential by its name, or an item of a credential provider by its path. With
 * `auto`, the provider's item for the domain.
 */
const credentialReference = z.looseObject({
  name: z.string().optional(),
  provider: z.string().optional(),
  path: z.string().optional(),
  auto: z.boolean().optional(),
});

/** A profile that stays logged in to a domain. The fields about a login describe the latest one. */
const authConnection = z.looseObject({
  id: z.string(),
  profile_name: z.string(),
  domain: z.string(),
  status: authStatus,
  save_credentials: z.boolean(),
  record_session: z.boolean(),
  last_auth_check_at: timestamp.optional(),
  last_auth_at: timestamp.optional().describe('The same as last_auth_check_at'),
  credential: credentialReference.optional(),
  can_reauth: z.boolean().optional(),
  can_reauth_reason: canReauthReason.optional(),
  proxy_id: z.string().optional(),
  allowed_domains: z.array(z.string()).optional(),
  login_url: z.string().optional(),
  post_login_url: z.string().optional(),
  health_checks: z.boolean().optional(),
  auto_reauth: z.boolean().optional(),
  health_check_interval: z.number().int().nullable().optional(),
  browser_telemetry: z.unknown().optional(),
  flow_status: flowStatus.nullable().optional(),
  flow_step: flowStep.nullable().optional(),
  flow_type: flowType.nullable().optional(),
  flow_expires_at: timestamp.nullable().optional(),
  browser_session_id: z.string().nullable().optional(),
  sso_provider: z.string().nullable().optional(),
  ...nullable(asked),
});

export type AuthConnection = z.output<typeof authConnection>;

/** A domain, or `*.` and a domain. */
const allowedDomain = z
  .string()
  .max(260, { abort: true })
  .refine(
    (text) => hostName.test(text.replace(/^\*\./, '')),
    'must be a domain such as login.example.com or *.example.com',
  )
  .overwrite((text) => (text.startsWith('*.') ? `*.${asHost(text.slice(2))}` : asHost(text)));

const credentialSelector = z.union([
  z.strictObject({ provider: z.string().min(1), path: z.string().min(1) }),
  z.strictObject({ provider: z.string().min(1), auto: z.literal(true) }),
  z.strictObject({ name: z.string().min(1) }),
]);

export type CredentialSelector = z.output<typeof credentialSelector>;

/** Either an id or a name. */
const proxySelector = z
  .strictObject({ id: z.string().min(1).optional(), name: z.string().min(1).optional() })
  .refine(({ id, name }) => (id === undefined) !== (name === undefined), 'must have an id or a name');

export type ProxySelector = z.output<typeof proxySelector>;

const settings = {
  proxy: proxySelector,
  credential: credentialSelector,
  allowed_domains: z
    .array(allowedDomain)
    .max(100)
    .describe('Domains that a login may visit besides its own; `*.example.com` includes all subdomains'),
  health_check_interval: z.int().min(300).max(86_400).describe('Seconds'),
  health_checks: z.boolean(),
  auto_reauth: z.boolean().describe('Log in again after a health check found the profile logged out'),
  save_credentials: z.boolean().describe('Store the entered values after a successful login, except one-time codes'),
  record_session: z.boolean().describe('Record logins as replays'),
  browser_telemetry: telemetryRequest,
};

const authConnectionCreate = z.strictObject({
  domain,
  profile_name: name,
  login_url: httpUrl.optional().describe('Default: the service looks for it on the front page of the domain'),
  proxy: settings.proxy.optional(),
  credential: settings.credential.optional(),
  allowed_domains: settings.allowed_domains.default([]),
  health_check_interval: settings.health_check_interval.default(3600),
  health_checks: settings.health_checks.default(true),
  auto_reauth: settings.auto_reauth.default(true),
  save_credentials: settings.save_credentials.default(true),
  record_session: settings.record_session.default(false),
  browser_telemetry: settings.browser_telemetry.optional(),
});

export type AuthConnectionCreate = z.output<typeof authConnectionCreate>;
/** As sent, before defaults are filled in. */
export type AuthConnectionRequest = z.input<typeof authConnectionCreate>;

const authConnectionUpdate = z.strictObject({ ...settings, login_url: z.literal('').or(httpUrl) }).partial();

export type AuthConnectionUpdate = z.output<typeof authConnectionUpdate>;

const login = z.strictObject(settings).pick({ proxy: true, record_session: true, browser_telemetry: true }).partial();

const loginAnswer = z.looseObject({
  id: z.string().describe('Id of the connection'),
  flow_type: flowType,
  hosted_url: z.string().describe('Bearer link to the login view, in which a person logs in'),
  flow_expires_at: timestamp,
  handoff_code: z
    .string()
    .optional()
    .describe('For `exchange`, until flow_expires_at: lets a page without an API key follow the login'),
  live_view_url: z.string().optional(),
});

const timelineType = z.enum(['login', 'reauth', 'health_check']);

const timelineItem = z.looseObject({
  id: z.string(),
  type: timelineType,
  timestamp,
  status: z.enum([...flowStatus.options, ...authStatus.options]),
  previous_status: authStatus.optional(),
  step: z
    .enum([
      'INITIALIZED',
      'DISCOVERING',
      'AWAITING_INPUT',
      'AWAITING_EXTERNAL_ACTION',
      'AWAITING_HUMAN_INTERVENTION',
      'SUBMITTING',
      'COMPLETED',
      'EXPIRED',
    ])
    .optional(),
  error_code: z.string().optional(),
  error_message: z.string().optional(),
  website_error: z.string().optional(),
  browser_session_id: z.string().optional(),
  replay_id: z.string().optional(),
  telemetry_captured: z.boolean().optional(),
  updated_at: timestamp.optional(),
});

export type TimelineItem = z.output<typeof timelineItem>;

/** The operations on auth connections: profiles that the service keeps logged in to a web site. */
export const authConnections = {
  create: operation(
    'POST /auth/connections',
    'Create an auth connection, and its profile if it is missing; 409 with `existing_id` if the connection exists',
    { body: authConnectionCreate, responses: { 201: json(authConnection) }, errors: [409, 501] },
  ),
  list: operation('GET /auth/connections', 'List auth connections, newest first', {
    query: pageQuery.extend({
      profile_name: z.string().optional(),
      domain: z.string().overwrite(asHost).optional(),
      query: z.string().optional().describe('Part of the id, domain or profile name'),
    }),
    responses: { 200: list(authConnection) },
  }),
  retrieve: operation('GET /auth/connections/{id}', 'Get an auth connection with the state of its latest login', {
    responses: { 200: json(authConnection) },
  }),
  update: operation(
    'PATCH /auth/connections/{id}',
    'Change an auth connection; a running login keeps the old settings',
    { body: authConnectionUpdate, responses: { 200: json(authConnection) }, errors: [501] },
  ),
  delete: operation(
    'DELETE /auth/connections/{id}',
    'Delete an auth connection and cancel its login; the profile stays',
    { responses: { 204: empty } },
  ),
  login: operation(
    'POST /auth/connections/{id}/login',
    'Start a login: automatic with a stored credential, else a person answers at hosted_url or by submissions',
    { body: login.prefault({}), responses: { 200: json(loginAnswer) }, errors: [409, 501], repeatable: false },
  ),
  exchange: operation(
    'POST /auth/connections/{id}/exchange',
    'Exchange the handoff_code of a login, once, for a bearer token that gets the connection and submits answers for 30 minutes; needs no API key',
    {
      body: z.strictObject({ code: z.string().min(1).max(1000) }),
      responses: { 200: json(z.looseObject({ invocation_id: z.string(), jwt: z.string() })) },
      errors: [410],
      scope: 'none',
      repeatable: false,
    },
  ),
  submit: operation(
    'POST /auth/connections/{id}/submit',
    'Answer the questions of a login; its state shows the result',
    {
      body: submission,
      responses: { 202: json(z.looseObject({ accepted: z.literal(true) })) },
      errors: [422],
      repeatable: false,
    },
  ),
  follow: operation(
    'GET /auth/connections/{id}/events',
    'Follow the latest login, or the next one if there was none: its state now and after each change. Ends with the login',
    { responses: { 200: events(authConnectionEvent) } },
  ),
  timeline: operation(
    'GET /auth/connections/{id}/timeline',
    'List the logins and health checks of an auth connection, newest first',
    { query: pageQuery.extend({ type: timelineType.optional() }), responses: { 200: list(timelineItem) } },
  ),
};

/** Makes all fields of a schema optional and nullable. */
function nullable<T extends Record<string, z.ZodType>>(shape: T) {
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, schema.nullable().optional()])) as {
    [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>>;
  };
}
