import type { Submission } from '../../../src/contract/login-flow.ts';
import type { LoginChoice, LoginField, LoginForm } from '../../../src/service/logins/reading/login-form.ts';
import { promptFields, toInput } from '../../../src/service/logins/flow/prompt.ts';
import { covers, keptValues, storedChoice } from '../../../src/service/logins/stored-login.ts';
import { storedValues, type StoredLogin } from '../../../src/service/logins/stored-login.ts';
import { canReauth } from '../../../src/service/logins/logins.ts';
import { expect, test } from '../../support/worker.ts';

const field = (id: string, type: LoginField['type'], ref: string, label: string, more: Partial<LoginField> = {}) => ({
  id,
  ref,
  type,
  label,
  input_type: type as LoginField['input_type'],
  selector: `#${ref}`,
  required: true,
  ...more,
});
const email = field('f1', 'identifier', 'email', 'E-mail', { input_type: 'email' });
const password = field('f2', 'password', 'password', 'Password');
const shop = field('f3', 'text', 'shop', 'Shop', { required: false, hint: 'As on your card' });
const code = field('f4', 'code', 'code', 'Code');
const button = (number: number) => ({ id: `c${number}`, selector: `//button[${number}]` });
const google: LoginChoice = { ...button(1), type: 'sso_provider', label: 'Continue with Google', provider: 'google' };
const sms: LoginChoice = { ...button(2), type: 'mfa_method', label: 'Text message', mfa_type: 'sms', target: '•• 42' };
const app: LoginChoice = { ...button(3), type: 'mfa_method', label: 'App', mfa_type: 'totp' };
const account: LoginChoice = { ...button(4), type: 'account', label: 'Ann', description: 'ann@example.com' };

function formOf(fields: LoginField[], choices: LoginChoice[] = []): LoginForm {
  return { url: 'https://example.com/login', origin: 'https://example.com', fields, choices, not_found: [] };
}

test("describes a login's questions in the old and the new format, without fields whose values are known", () => {
  const form = formOf([email, password, shop], [google, sms, account]);
  expect(promptFields({ form, known: { f1: 'ann@example.com' } })).toEqual({
    fields: [
      {
        id: 'f2',
        ref: 'password',
        type: 'password',
        label: 'Password',
        required: true,
        observed_selector: '#password',
      },
      { id: 'f3', ref: 'shop', type: 'text', label: 'Shop', required: false, observed_selector: '#shop' },
    ],
    discovered_fields: [
      { name: 'f2', type: 'password', label: 'Password', selector: '#password', required: true },
      { name: 'f3', type: 'text', label: 'Shop', selector: '#shop', required: false, hint: 'As on your card' },
    ],
    choices: [
      { id: 'c1', type: 'sso_provider', label: 'Continue with Google', observed_selector: '//button[1]' },
      { id: 'c2', type: 'mfa_method', label: 'Text message', observed_selector: '//button[2]' },
      { id: 'c4', type: 'account', label: 'Ann', description: 'ann@example.com', observed_selector: '//button[4]' },
    ],
    mfa_options: [{ type: 'sms', label: 'Text message', target: '•• 42' }],
    sign_in_options: [{ id: 'c4', label: 'Ann', description: 'ann@example.com' }],
    pending_sso_buttons: [{ selector: '//button[1]', provider: 'google', label: 'Continue with Google' }],
  });
  expect(promptFields({ form: formOf([]), known: {} })).toEqual({});
});

test("accepts answers to a login's questions in both formats", () => {
  const prompt = { form: formOf([email, password], [google, sms, account]), known: { f1: 'ann@example.com' } };
  const both = { f1: 'ann@example.com', f2: 'secret' };
  for (const [submission, input] of [
    [{ field_values: { f2: 'secret' } }, { values: both }],
    [{ fields: { f2: 'secret' } }, { values: both }],
    [{ field_values: { f1: 'bob', f2: 'secret' } }, { values: { f1: 'bob', f2: 'secret' } }],
    [{ selected_choice_id: 'c1' }, { choice_id: 'c1' }],
    [{ sso_provider: 'google' }, { choice_id: 'c1' }],
    [{ sso_button_selector: '//button[1]' }, { choice_id: 'c1' }],
    [{ mfa_option_id: 'sms' }, { choice_id: 'c2' }],
    [
      { sign_in_option_id: 'c4', field_values: { f2: 'x' } },
      { choice_id: 'c4', values: { ...both, f2: 'x' } },
    ],
  ] as const)
    expect(toInput(prompt, submission)).toEqual(input);
});

test("refuses answers that don't fit a login's questions, without repeating their values", () => {
  const prompt = { form: formOf([email, password], [google, sms, account]), known: {} };
  const refused: Submission[] = [
    {},
    { field_values: { f1: 'ann' } },
    { field_values: { f1: 'ann', f2: '' } },
    { field_values: { 'hunter-2': 'x', f1: 'ann', f2: 'b' } },
    { mfa_option_id: 'hunter-2' },
    { sign_in_option_id: 'c1' },
    { sso_provider: 'sms' },
    { sso_button_selector: '//button[2]' },
    { selected_choice_id: 'c1', mfa_option_id: 'sms' },
  ];
  for (const submission of refused) {
    const message = /^(?!.*hunter-2).*it asks for: f1, f2, c1, c2, c4/s;
    expect(() => toInput(prompt, submission), JSON.stringify(submission)).toThrow(
      expect.objectContaining({ code: 'not_asked', status: 422, message: expect.stringMatching(message) }),
    );
  }
});

test("a stored credential answers a login's questions with values, an identifier and a one-time code", () => {
  const stored: StoredLogin = {
    values: { username: 'ann', password: 'secret' },
    totpCode: () => '123456',
    ssoProvider: undefined,
    domains: ['example.com'],
  };
  const answers = { f1: 'ann', f2: 'secret', f4: '123456' };
  expect(storedValues(formOf([email, password, shop, code]), stored)).toEqual(answers);
  expect(covers({ f1: 'ann', f2: 'secret' }, formOf([email, password, shop]))).toBe(true);
  expect(covers({ f1: 'ann' }, formOf([email, password]))).toBe(false);
  expect(covers({}, formOf([shop]))).toBe(false);
  const bySms = { ...code, linked_mfa_type: 'sms' as const };
  expect(storedValues(formOf([bySms]), stored)).toEqual({});
  expect(storedChoice(formOf([], [sms, app]), stored)).toBe(app);
  expect(storedChoice(formOf([], [sms, app]), { ...stored, totpCode: () => undefined })).toBeUndefined();
  expect(storedChoice(formOf([], [google]), stored)).toBeUndefined();
  expect(storedChoice(formOf([], [google]), { ...stored, ssoProvider: 'google' })).toBe(google);
  expect(storedChoice(formOf([], [account]), { ...stored, values: { email: 'ANN@example.com' } })).toBe(account);
  expect(keptValues(formOf([email, password, code]), { values: answers })).toEqual([
    { ref: 'email', value: 'ann', origin: 'https://example.com' },
    { ref: 'password', value: 'secret', origin: 'https://example.com' },
  ]);
});

test('a stored credential answers only on its own domain and subdomains', () => {
  for (const [domain, origin, answers] of [
    ['example.com', 'https://example.com', true],
    ['example.com', 'https://login.example.com', true],
    ['example.com', 'https://example.com:8443', true],
    ['www.example.com', 'https://example.com', true],
    ['example.com:8443', 'https://example.com:8443', true],
    ['example.com:8443', 'https://example.com', false],
    ['login.example.com', 'https://example.com', false],
    ['login.example.com', 'https://other.example.com', false],
    ['example.com', 'https://example.com.evil.test', false],
    ['example.com', 'https://notexample.com', false],
    ['example.com', 'https://accounts.google.com', false],
    ['example.com', 'null', false],
    ['example.com', undefined, false],
  ] as const) {
    const stored = { values: { email: 'ann' }, totpCode: () => '123456', ssoProvider: undefined, domains: [domain] };
    const { origin: _, ...form } = formOf([email, code]);
    const values = storedValues({ ...form, ...(origin !== undefined && { origin }) }, stored);
    expect([domain, origin, Object.keys(values).length > 0]).toEqual([domain, origin, answers]);
  }
});

test('says whether an auth connection can log in again without a person, and if not, why', () => {
  const mine = { name: 'mine' };
  const vault = { provider: 'vault', auto: true as const };
  const known = { exists: true, hasTotpSecret: false };
  for (const [needs, credential, stored, can, reason] of [
    [undefined, mine, known, false, 'no_prior_successful_login'],
    [[], undefined, known, false, 'no_credential'],
    [[], mine, { exists: false, hasTotpSecret: false }, false, 'no_credential'],
    [[], mine, known, true, 'has_credential'],
    [[], vault, known, true, 'external_credential'],
    [['totp'], mine, known, false, 'requires_totp_without_secret'],
    [['totp'], mine, { exists: true, hasTotpSecret: true }, true, 'requirements_satisfiable'],
    [['sms'], mine, known, false, 'requires_sms_code'],
    [['email'], mine, known, false, 'requires_email_code'],
    [['totp', 'external_action'], vault, known, false, 'requires_external_action'],
  ] as const) {
    expect(canReauth(needs, credential, stored), reason).toEqual({ can, reason });
  }
});
