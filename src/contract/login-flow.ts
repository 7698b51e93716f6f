import { z } from 'zod';
import { errorEvent, heartbeatEvent } from './app-events.ts';
import { timestamp } from './values.ts';

// The parts of a login that the contract of auth connections uses: its states, questions and answers.

/** The states of a login. It ends with any state but the first. */
export const flowStatus = z.enum(['IN_PROGRESS', 'SUCCESS', 'FAILED', 'EXPIRED', 'CANCELED']);
export const flowStep = z.enum([
  'DISCOVERING',
  'AWAITING_INPUT',
  'AWAITING_EXTERNAL_ACTION',
  'SUBMITTING',
  'COMPLETED',
]);
export const flowType = z.enum(['LOGIN', 'REAUTH']);

export type FlowStatus = z.output<typeof flowStatus>;
export type FlowStep = z.output<typeof flowStep>;
export type FlowType = z.output<typeof flowType>;

/** The ways to confirm a login. `switch` is a link to another way. */
const mfaType = z.enum(['sms', 'call', 'email', 'totp', 'push', 'password', 'switch']);

/** A value that a login asks for. `id` is its key in an answer, `ref` its key in a stored credential. */
const field = z.looseObject({
  id: z.string(),
  ref: z.string(),
  type: z.enum(['identifier', 'password', 'code', 'totp_code', 'totp_secret', 'text']),
  label: z.string().optional(),
  required: z.boolean().optional(),
  observed_selector: z.string().nullable().optional(),
});

/** One of several ways to continue a login. An answer chooses it by its `id`. */
const choice = z.looseObject({
  id: z.string(),
  type: z.enum([
    'mfa_method',
    'sso_provider',
    'sign_in_method',
    'auth_method',
    'identifier_method',
    'account',
    'other',
  ]),
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

const signInOption = z.looseObject({
  id: z.string(),
  label: z.string(),
  description: z.string().nullable().optional(),
});

const ssoButton = z.looseObject({ selector: z.string(), provider: z.string(), label: z.string() });

/** The questions of a login: as `fields` and `choices`, and again in the older form, `discovered_fields` and so on. */
export const asked = {
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

const values = z
  .record(z.string().min(1).max(1000), z.string().max(10_000))
  .refine((map) => Object.keys(map).length <= 100, 'must have at most 100 entries');

/** A person's answer to the questions of a login. */
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
    'must have either sso_button_selector or sso_provider, not both',
  );

export type Submission = z.output<typeof submission>;

/** The complete state of a login. It replaces all earlier ones. */
const stateEvent = z.looseObject({
  event: z.literal('managed_auth_state'),
  timestamp,
  flow_status: flowStatus,
  flow_step: flowStep,
  flow_type: flowType.optional(),
  post_login_url: z.string().optional(),
  ...z.object(asked).partial().shape,
});

export const authConnectionEvent = z.discriminatedUnion('event', [stateEvent, errorEvent, heartbeatEvent]);

export type AuthConnectionEvent = z.output<typeof authConnectionEvent>;
