import type { LoginNeed } from '../connections-table.ts';
import { LoginError, type LoginForm, type LoginInput, type LoginState, type MfaType } from '../reading/login-form.ts';
import type { LoginPage } from '../robot/login-page.ts';
import { providerOf, type Prompt } from './prompt.ts';
import {
  covers,
  type EnteredValue,
  isFor,
  keptValues,
  storedChoice,
  storedValues,
  type StoredLogin,
} from '../stored-login.ts';

/** The result of a successful login. */
export type LoggedIn = {
  url: string;
  needs: LoginNeed[];
  /** The values that a person entered, without one-time codes. */
  entered: EnteredValue[];
  /** The SSO provider whose button continued the login. */
  ssoProvider: string | undefined;
};

/** A state in which the site waits for an answer or an action. */
export type Asking = Exclude<LoginState, { kind: 'logged_in' }>;

export type ConverseOptions = {
  page: LoginPage;
  stored: StoredLogin | undefined;
  /** Called before the service submits stored values without asking a person. */
  onSubmit: () => void;
  /** Called with the site's error text when the site refuses the submitted values. */
  onRefused: (websiteError: string) => void;
  /**
   * Resolves with a person's answer, or with the site's new state if it changes first. Rejects if no person can answer.
   */
  ask: (asking: Asking, prompt: Prompt) => Promise<{ input: LoginInput } | { state: LoginState }>;
};

/** How often in a row the site may refuse answers to the same question. */
const mostRefusals = 3;
const mostSubmissions = 40;

/**
 * Carries out a login on an open login page. Answers each question of the site once from the stored credential, and
 * asks a person for the rest. Throws `LoginError`, and the errors of the page and of `ask`.
 */
export async function converse({ page, stored, onSubmit, onRefused, ask }: ConverseOptions): Promise<LoggedIn> {
  const answered = new Set<string>();
  const needs = new Set<LoginNeed>();
  const entered: EnteredValue[] = [];
  let ssoProvider: string | undefined;
  let mfaType: MfaType | undefined;
  let refusals = { of: '', count: 0 };

  let state = await page.state();
  for (let count = 0; count <= mostSubmissions; count += 1) {
    if (state.kind === 'logged_in') return { url: state.url, needs: [...needs], entered, ssoProvider };
    const { form } = state;
    const known = stored && !answered.has(questionOf(form)) ? storedValues(form, stored) : {};
    const own = stored && state.kind === 'asks' ? ownInput(form, known, stored, answered) : undefined;
    if (own) onSubmit();
    const answer = own
      ? { input: own }
      : await ask(state, {
          form,
          known,
          foreignTo: stored && form.fields.length > 0 && !isFor(stored, form) ? stored.domains : undefined,
        });
    if ('state' in answer) {
      if (state.kind === 'external_action') needs.add('external_action');
      state = answer.state;
      continue;
    }
    const { input } = answer;
    const choice = form.choices.find(({ id }) => id === input.choice_id);
    if (choice?.type === 'sso_provider') ssoProvider = providerOf(choice);
    mfaType = choice?.mfa_type ?? mfaType;
    for (const need of needsOf(form, input, mfaType, own !== undefined)) needs.add(need);
    if (!own) entered.push(...keptValues(form, input));
    answered.add(questionOf(form));
    state = await page.submit({ ...input, origin: form.origin });
    if (state.kind === 'logged_in' || state.form.website_error === undefined) continue;
    const { website_error: websiteError } = state.form;
    onRefused(websiteError);
    const of = questionOf(state.form);
    refusals = { of, count: of === refusals.of ? refusals.count + 1 : 1 };
    if (refusals.count >= mostRefusals) {
      throw new LoginError(
        'max_attempts_reached',
        `the site refused the entered values ${mostRefusals} times; it says: ${websiteError}`,
      );
    }
  }
  throw new LoginError('stuck_in_loop', `the login doesn't end: the site asked for input ${mostSubmissions} times`);
}

/** The credential's input for a form, if it answers all required fields. */
function ownInput(
  form: LoginForm,
  known: Record<string, string>,
  stored: StoredLogin,
  answered: Set<string>,
): LoginInput | undefined {
  if (answered.has(questionOf(form))) return undefined;
  const choice = storedChoice(form, stored);
  // A login through a provider has no password here.
  if (choice?.type !== 'sso_provider' && covers(known, form)) return { values: known };
  return choice && { choice_id: choice.id };
}

/** A text that identifies the question: it stays the same while the site asks for the same values. */
function questionOf({ fields, choices }: LoginForm): string {
  return [...fields, ...choices].map(({ id }) => id).join('\n');
}

/** The steps of the login for which a stored password isn't enough. */
function needsOf(
  { fields }: LoginForm,
  { values = {} }: LoginInput,
  mfaType: MfaType | undefined,
  isStored: boolean,
): LoginNeed[] {
  const codes = fields.filter(({ id, type }) => values[id] !== undefined && (type === 'code' || type === 'totp_code'));
  return codes.map(({ type, linked_mfa_type }) => {
    const from = type === 'totp_code' || isStored ? 'totp' : (linked_mfa_type ?? mfaType);
    return from === 'totp' || from === 'email' ? from : 'sms';
  });
}

/** The reason why a login without a person can't continue. */
export function unanswered({ kind, form }: Asking, { foreignTo }: Prompt): LoginError {
  if (foreignTo !== undefined) {
    return new LoginError(
      'domain_not_allowed',
      `the login form on ${form.origin} isn't on a domain of the stored credential (${foreignTo.join(', ') || 'it has none'}): store a credential for ${form.origin}`,
    );
  }
  if (form.website_error !== undefined) {
    return new LoginError(
      'credentials_invalid',
      `the site refuses the stored credential; it says: ${form.website_error}`,
    );
  }
  if (kind === 'external_action') {
    return new LoginError(
      'external_action_required',
      `a person must act: ${form.external_action_message ?? 'the site waits for an action outside the page'}`,
    );
  }
  const isSecondFactor =
    form.fields.some(({ type }) => type === 'code' || type === 'totp_code') ||
    form.choices.some(({ type }) => type === 'mfa_method');
  if (isSecondFactor)
    return new LoginError('mfa_required', 'the site asks for a second factor, which a person must enter');
  const labels = [...form.fields, ...form.choices].map(({ label }) => label).join(', ');
  return new LoginError('credentials_invalid', `the stored credential lacks values that the site asks for: ${labels}`);
}
