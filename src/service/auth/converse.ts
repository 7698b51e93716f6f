import type { LoginNeed } from './connection-record.ts';
import type { LoginForm, LoginInput, LoginState, MfaType } from './login-form.ts';
import type { LoginPage } from './login-page.ts';
import { providerOf, type Prompt } from './prompt.ts';
import { covers, keptValues, storedChoice, storedValues, type StoredLogin } from './stored-login.ts';

/** What a login that succeeded tells. */
export type LoggedIn = {
  /** Where it landed. */
  url: string;
  needs: LoginNeed[];
  /** What people entered, by the `ref`s of fields, without one-time codes. */
  entered: Record<string, string>;
  /** The button by which it went on elsewhere. */
  ssoProvider: string | undefined;
};

/** A state in which the site waits for somebody. */
export type Asking = Exclude<LoginState, { kind: 'logged_in' }>;

export type ConverseOptions = {
  page: LoginPage;
  stored: StoredLogin | undefined;
  /** Called before something is submitted that nobody was asked for. */
  onSubmit: () => void;
  /** Called with the error text of the site when it does not take what it got. */
  onRefused: (websiteError: string) => void;
  /** What a person answers, or the state in which the site is meanwhile. Rejects when nobody is there. */
  ask: (asking: Asking, prompt: Prompt) => Promise<{ input: LoginInput } | { state: LoginState }>;
};

/** The login can't go on. The message is for people, and holds nothing that was filled in. */
export class LoginFailure extends Error {
  override name = 'LoginFailure';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** How often in a row the site may refuse the same thing. */
const mostRefusals = 3;
const mostSubmissions = 40;

/** Logs in: answers what the credential answers, once each, and asks for the rest. Throws `LoginFailure`, and what page and `ask` throw. */
export async function converse({ page, stored, onSubmit, onRefused, ask }: ConverseOptions): Promise<LoggedIn> {
  const answered = new Set<string>();
  const needs = new Set<LoginNeed>();
  const entered: Record<string, string> = {};
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
    const answer = own ? { input: own } : await ask(state, { form, known });
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
    if (!own) Object.assign(entered, keptValues(form, input));
    answered.add(questionOf(form));
    state = await page.submit(input);
    if (state.kind === 'logged_in' || state.form.website_error === undefined) continue;
    const { website_error: websiteError } = state.form;
    onRefused(websiteError);
    const of = questionOf(state.form);
    refusals = { of, count: of === refusals.of ? refusals.count + 1 : 1 };
    if (refusals.count >= mostRefusals) {
      throw new LoginFailure('max_attempts_reached', `the site refused what it was given ${mostRefusals} times; it says: ${websiteError}`);
    }
  }
  throw new LoginFailure('stuck_in_loop', `the site asked for something ${mostSubmissions} times, and the login came to no end`);
}

/** What the credential answers to a form, where it answers all that is required. */
function ownInput(form: LoginForm, known: Record<string, string>, stored: StoredLogin, answered: Set<string>): LoginInput | undefined {
  if (answered.has(questionOf(form))) return undefined;
  const choice = storedChoice(form, stored);
  // Who logs in elsewhere has no password here.
  if (choice?.type !== 'sso_provider' && covers(known, form)) return { values: known };
  return choice && { choice_id: choice.id };
}

/** The same for as long as the site asks for the same. */
function questionOf({ fields, choices }: LoginForm): string {
  return [...fields, ...choices].map(({ id }) => id).join('\n');
}

/** What had to come from elsewhere than a credential. */
function needsOf({ fields }: LoginForm, { values = {} }: LoginInput, mfaType: MfaType | undefined, isStored: boolean): LoginNeed[] {
  const codes = fields.filter(({ id, type }) => values[id] !== undefined && (type === 'code' || type === 'totp_code'));
  return codes.map(({ type, linked_mfa_type }) => {
    const from = type === 'totp_code' || isStored ? 'totp' : (linked_mfa_type ?? mfaType);
    return from === 'totp' || from === 'email' ? from : 'sms';
  });
}

/** Why a login to which nobody listens can't go on. */
export function unanswered({ kind, form }: Asking): LoginFailure {
  if (form.website_error !== undefined) {
    return new LoginFailure('credentials_invalid', `the site does not take the stored credential; it says: ${form.website_error}`);
  }
  if (kind === 'external_action') {
    return new LoginFailure('external_action_required', `somebody has to act: ${form.external_action_message ?? 'the site waits for it'}`);
  }
  const isSecondFactor =
    form.fields.some(({ type }) => type === 'code' || type === 'totp_code') || form.choices.some(({ type }) => type === 'mfa_method');
  if (isSecondFactor) return new LoginFailure('mfa_required', 'the site asks for a second factor, and somebody has to give it');
  const labels = [...form.fields, ...form.choices].map(({ label }) => label).join(', ');
  return new LoginFailure('credentials_invalid', `the stored credential does not answer all that the site asks for: ${labels}`);
}
