import type { Submission } from '../../../contract/login-flow.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { LoginChoice, LoginForm, LoginInput, MfaType } from '../reading/login-form.ts';

/** A question to a person: a form. Some of its fields have their values already. */
export type Prompt = {
  form: LoginForm;
  known: Record<string, string>;
  /** The domains of the credential, if it must not be typed into this form. */
  foreignTo?: readonly string[] | undefined;
};

/**
 * The fields of an API answer that describe a prompt, in the current format and in the one of older clients. Omits
 * empty lists.
 */
export function promptFields({ form, known }: Prompt) {
  const asked = form.fields.filter(({ id }) => known[id] === undefined);
  const { choices } = form;
  return withoutEmpty({
    fields: asked.map(({ id, ref, type, label, required, selector }) => ({
      id,
      ref,
      type,
      label,
      required,
      observed_selector: selector,
    })),
    choices: choices.map(({ id, type, label, description, selector }) => ({
      id,
      type,
      label,
      description,
      observed_selector: selector,
    })),
    discovered_fields: asked.map(
      ({ id, input_type, label, selector, required, placeholder, hint, linked_mfa_type }) => ({
        name: id,
        type: input_type,
        label,
        selector,
        required,
        placeholder,
        hint,
        linked_mfa_type,
      }),
    ),
    mfa_options: choices
      .filter(isMfaOption)
      .map(({ mfa_type: type, label, target, description }) => ({ type, label, target, description })),
    sign_in_options: choices.filter(isSignInOption).map(({ id, label, description }) => ({ id, label, description })),
    pending_sso_buttons: choices
      .filter(isSsoButton)
      .map((choice) => ({ selector: choice.selector, provider: providerOf(choice), label: choice.label })),
  });
}

/**
 * Translates a person's answer, together with the known values, to input for the page. Throws `not_asked` if the answer
 * doesn't fit the questions or lacks a required value.
 */
export function toInput({ form, known }: Prompt, submission: Submission): LoginInput {
  const given = { ...submission.fields, ...submission.field_values };
  const choice = chosen(form, submission);
  const isKnown = (id: string) => form.fields.some((field) => field.id === id);
  if (!Object.keys(given).every(isKnown)) throw notAsked('the login does not ask for one of the fields', form);
  const values = Object.fromEntries(Object.entries({ ...known, ...given }).filter(([, value]) => value !== ''));
  if (choice) return { choice_id: choice.id, ...(Object.keys(given).length > 0 && { values }) };
  const missing = form.fields.find(({ id, required }) => required && values[id] === undefined);
  if (missing) throw notAsked(`${missing.id} (${missing.label}) is required`, form);
  if (Object.keys(values).length === 0) throw notAsked('the submission has no value and no choice', form);
  return { values };
}

function chosen(form: LoginForm, submission: Submission): LoginChoice | undefined {
  const { selected_choice_id, mfa_option_id, sign_in_option_id, sso_button_selector, sso_provider } = submission;
  const ways: [string | undefined, (choice: LoginChoice) => boolean][] = [
    [selected_choice_id, ({ id }) => id === selected_choice_id],
    [mfa_option_id, ({ mfa_type }) => mfa_type === mfa_option_id],
    [sign_in_option_id, (choice) => isSignInOption(choice) && choice.id === sign_in_option_id],
    [sso_button_selector, (choice) => isSsoButton(choice) && choice.selector === sso_button_selector],
    [sso_provider, (choice) => isSsoButton(choice) && providerOf(choice) === sso_provider],
  ];
  const [way, other] = ways.filter(([given]) => given !== undefined);
  if (!way) return undefined;
  if (other) throw notAsked('the submission has more than one choice: send only one', form);
  const choice = form.choices.find(way[1]);
  if (!choice) throw notAsked('the login does not offer this choice', form);
  return choice;
}

/** The SSO provider of a choice. */
export function providerOf({ provider, label }: LoginChoice): string {
  return provider ?? label.toLowerCase();
}

function isSsoButton({ type }: LoginChoice): boolean {
  return type === 'sso_provider';
}

function isMfaOption(choice: LoginChoice): choice is LoginChoice & { mfa_type: MfaType } {
  return choice.mfa_type !== undefined;
}

function isSignInOption({ type, mfa_type }: LoginChoice): boolean {
  return type !== 'sso_provider' && mfa_type === undefined;
}

/** The error lists the ids of the questions, but never an entered value. */
function notAsked(problem: string, { fields, choices }: LoginForm): OperationError {
  const ids = [...fields, ...choices].map(({ id }) => id);
  return new OperationError(
    'not_asked',
    `${problem}; it asks for: ${ids.join(', ') || 'nothing that can be submitted'}`,
  );
}

function withoutEmpty<T extends Record<string, unknown[]>>(lists: T): Partial<T> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<T>;
}
