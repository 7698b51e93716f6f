import { z } from 'zod';
import { errorEvent, heartbeatEvent } from './app-events.ts';
import { empty, events, json, list, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import { asHost, domain, hostName, httpUrl, name, telemetryRequest, timestamp } from './values.ts';

const authStatus = z.enum(['AUTHENTICATED', 'NEEDS_AUTH']);

/** All but the first are terminal. */
const flowStatus = z.enum(['IN_PROGRESS', 'SUCCESS', 'FAILED', 'EXPIRED', 'CANCELED']);
const flowStep = z.enum(['DISCOVERING', 'AWAITING_INPUT', 'AWAITING_EXTERNAL_ACTION', 'SUBMITTING', 'COMPLETED']);
const flowType = z.enum(['LOGIN', 'REAUTH']);

export type AuthStatus = z.output<typeof authStatus>;
export type FlowStatus = z.output<typeof flowStatus>;
export type FlowStep = z.output<typeof flowStep>;
export type FlowType = z.output<typeof flowType>;

/** `switch` is a link to another way to log in. */
const mfaType = z.enum(['sms', 'call', 'email', 'totp', 'push', 'password', 'switch']);

/** What a login asks for. `id` is the key under which it is submitted, `ref` the one under which a credential holds it. */
const field = z.looseObject({
  id: z.string(),
  ref: z.string(),
  type: z.enum(['identifier', 'password', 'code', 'totp_code', 'totp_secret', 'text']),
  label: z.string().optional(),
  required: z.boolean().optional(),
  observed_selector: z.string().nullable().optional(),
});

/** One of several ways on; `id` is what is submitted. */
const choice = z.looseObject({
  id: z.string(),
  type: z.enum(['mfa_method', 'sso_provider', 'sign_in_method', 'auth_method', 'identifier_method', 'account', 'other']),
  label: z.string(),
  description: z.string().nullable().optional(),
  observed_selector: z.string().nullable().optional(),
});

const discoveredField = z.looseObject({
  name: z.string(),
  type: z.enum(['text', 'email', 'password', 'tel', 'number', 'url', 'code', 'totp']),
  label: z.string(),
  selector: z.string(),
  placeholder: z.string().optional(),
  hint: z.string().optional(),
  required: z.boolean().optional(),
  linked_mfa_type: mfaType.nullable().optional(),
});

const mfaOption = z.looseObject({
  type: mfaType,
  label: z.string(),
  target: z.string().nullable().optional(),
  description: z.string().nullable().optional(),
});

const signInOption = z.looseObject({ id: z.string(), label: z.string(), description: z.string().nullable().optional() });

const ssoButton = z.looseObject({ selector: z.string(), provider: z.string(), label: z.string() });

/** What is asked of a person, in two forms: `fields` and `choices`, and the older one. */
const asked = {
  fields: z.array(field),
  choices: z.array(choice),
  discovered_fields: z.array(discoveredField),
  mfa_options: z.array(mfaOption),
  sign_in_options: z.array(signInOption),
  pending_sso_buttons: z.array(ssoButton),
  external_action_message: z.string(),
  website_error: z.string(),
  error_message: z.string(),
  error_code: z.string(),
  live_view_url: z.string(),
  hosted_url: z.string(),
};

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

/** A stored credential by its name, an item of a provider by its path, or what a provider has for the domain. */
const credentialReference = z.looseObject({
  name: z.string().optional(),
  provider: z.string().optional(),
  path: z.string().optional(),
  auto: z.boolean().optional(),
});

/** A profile that stays logged in to a domain. What tells of a login tells of the latest one. */
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

/** As a domain, or `*.` and a domain. */
const allowedDomain = z
  .string()
  .max(260, { abort: true })
  .refine((text) => hostName.test(text.replace(/^\*\./, '')), 'must be a domain such as login.example.com or *.example.com')
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
  allowed_domains: z.array(allowedDomain).max(100).describe('What a login may visit beside the domain; `*.example.com` for all below it'),
  health_check_interval: z.int().min(300).max(86_400).describe('Seconds'),
  health_checks: z.boolean(),
  auto_reauth: z.boolean().describe('Log in again when a health check finds the profile logged out'),
  save_credentials: z.boolean().describe('Store what was entered once it has logged in; one-time codes never'),
  record_session: z.boolean().describe('Record logins as replays'),
  browser_telemetry: telemetryRequest,
};

const authConnectionCreate = z.strictObject({
  domain,
  profile_name: name,
  login_url: httpUrl.optional().describe('Default: found from the front page of the domain'),
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
/** As it is sent. */
export type AuthConnectionRequest = z.input<typeof authConnectionCreate>;

const authConnectionUpdate = z.strictObject({ ...settings, login_url: z.literal('').or(httpUrl) }).partial();

export type AuthConnectionUpdate = z.output<typeof authConnectionUpdate>;

const login = z.strictObject({
  proxy: settings.proxy.optional(),
  record_session: settings.record_session.optional(),
  browser_telemetry: settings.browser_telemetry.optional(),
});

const loginAnswer = z.looseObject({
  id: z.string().describe('Of the connection'),
  flow_type: flowType,
  hosted_url: z.string().describe('Bearer link to a page on which a person logs in'),
  flow_expires_at: timestamp,
  handoff_code: z.string().optional(),
  live_view_url: z.string().optional(),
});

const values = z
  .record(z.string().min(1).max(1000), z.string().max(10_000))
  .refine((map) => Object.keys(map).length <= 100, 'must have at most 100 entries');

/** The answer to what a login asks. */
export const submission = z
  .strictObject({
    field_values: values.optional().describe('By the ids of `fields`'),
    fields: values.optional().describe('By the names of `discovered_fields`'),
    selected_choice_id: z.string().min(1).max(1000).optional(),
    mfa_option_id: z.string().min(1).max(1000).optional().describe('A type of `mfa_options`'),
    sign_in_option_id: z.string().min(1).max(1000).optional(),
    sso_button_selector: z.string().min(1).max(10_000).optional(),
    sso_provider: z.string().min(1).max(1000).optional(),
  })
  .refine(
    ({ sso_button_selector, sso_provider }) => sso_button_selector === undefined || sso_provider === undefined,
    'sso_button_selector and sso_provider exclude each other',
  );

export type Submission = z.output<typeof submission>;

/** The whole of a login's state, which replaces what was told before. */
const stateEvent = z.looseObject({
  event: z.literal('managed_auth_state'),
  timestamp,
  flow_status: flowStatus,
  flow_step: flowStep,
  flow_type: flowType.optional(),
  post_login_url: z.string().optional(),
  ...z.object(asked).partial().shape,
});

const authConnectionEvent = z.discriminatedUnion('event', [stateEvent, errorEvent, heartbeatEvent]);

export type AuthConnectionEvent = z.output<typeof authConnectionEvent>;

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

export const authConnections = {
  create: operation({
    method: 'POST',
    path: '/auth/connections',
    summary: 'Create an auth connection, and its profile where there is none; the error for one that exists names it in `existing_id`',
    body: authConnectionCreate,
    responses: { 201: json(authConnection) },
    errors: [409],
  }),
  list: operation({
    method: 'GET',
    path: '/auth/connections',
    summary: 'List auth connections, newest first',
    query: pageQuery.extend({
      profile_name: z.string().optional(),
      domain: z.string().overwrite(asHost).optional(),
      query: z.string().optional().describe('Part of the id, domain or profile name'),
    }),
    responses: { 200: list(authConnection) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/auth/connections/{id}',
    summary: 'Get an auth connection with the state of its latest login',
    responses: { 200: json(authConnection) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/auth/connections/{id}',
    summary: 'Change an auth connection; a login that runs goes on as it began',
    body: authConnectionUpdate,
    responses: { 200: json(authConnection) },
    errors: [404],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/auth/connections/{id}',
    summary: 'Delete an auth connection and cancel its login; the profile stays',
    responses: { 204: empty },
    errors: [404],
  }),
  login: operation({
    method: 'POST',
    path: '/auth/connections/{id}/login',
    summary: 'Start to log in: by itself where a credential is stored, else by the page at hosted_url or by submissions',
    body: login.prefault({}),
    responses: { 200: json(loginAnswer) },
    errors: [403, 404, 409],
    repeatable: false,
  }),
  submit: operation({
    method: 'POST',
    path: '/auth/connections/{id}/submit',
    summary: 'Answer what a login asks; what comes of it is in its state',
    body: submission,
    responses: { 202: json(z.looseObject({ accepted: z.literal(true) })) },
    errors: [404, 422],
    repeatable: false,
  }),
  follow: operation({
    method: 'GET',
    path: '/auth/connections/{id}/events',
    summary: 'Follow the latest login, or the next one where there was none: its state now, and each that comes. Ends with the login',
    responses: { 200: events(authConnectionEvent) },
    errors: [404],
  }),
  timeline: operation({
    method: 'GET',
    path: '/auth/connections/{id}/timeline',
    summary: 'List the logins and health checks of an auth connection, newest first',
    query: pageQuery.extend({ type: timelineType.optional() }),
    responses: { 200: list(timelineItem) },
    errors: [404],
  }),
};

function nullable<T extends Record<string, z.ZodType>>(shape: T) {
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, schema.nullable().optional()])) as {
    [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>>;
  };
}
