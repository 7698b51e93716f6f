// Runs in the page on which a person logs in: shows the site's questions, sends the person's answers, and follows the
// login until its end.
import type { AuthConnectionEvent, Submission } from '../../../contract/login-flow.ts';
import { build, say } from '../../../views/view.browser.ts';

type State = Extract<AuthConnectionEvent, { event: 'managed_auth_state' }>;
type Field = NonNullable<State['fields']>[number];
type Detail = NonNullable<State['discovered_fields']>[number];
type Choice = NonNullable<State['choices']>[number];

const alert = document.querySelector<HTMLElement>('[role=alert]')!;
const form = document.querySelector('form')!;
const view = document.querySelector('details')!;
const frame = document.querySelector('iframe')!;
const heading = document.querySelector('h1')!;
const intro = document.querySelector<HTMLElement>('#intro')!;

const steps: Partial<Record<State['flow_step'], string>> = {
  DISCOVERING: 'Opening the site…',
  SUBMITTING: 'One moment, the site is working…',
};
const headings: Partial<Record<Choice['type'], string>> = {
  sso_provider: 'Log in with',
  mfa_method: 'Confirm that it is you',
  account: 'Choose an account',
};
const autocompletes: Partial<Record<Field['type'], AutoFill>> = {
  identifier: 'username',
  password: 'current-password',
  code: 'one-time-code',
  totp_code: 'one-time-code',
};

/** The question that the form was built for, as JSON. */
let shown = '';
/** Entered values, which the form offers again if the site repeats its question. Never contains secrets. */
const typed = new Map<string, string>();

const events = new EventSource(`login/events${location.search}`);
events.addEventListener('message', ({ data }: MessageEvent<string>) => {
  const state = JSON.parse(data) as AuthConnectionEvent;
  if (state.event === 'managed_auth_state') show(state);
});
events.addEventListener('error', () => {
  const isGone = events.readyState === EventSource.CLOSED;
  say(isGone ? 'This login is over. Ask for a new link.' : 'The service cannot be reached; trying again.');
  if (!isGone) return;
  intro.hidden = true;
  view.hidden = true;
  clear();
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submit(event.submitter?.dataset['choice']);
});
view.addEventListener('toggle', loadBrowser);

function show(state: State): void {
  if (state.flow_status !== 'IN_PROGRESS') return end(state);
  view.hidden = state.live_view_url === undefined;
  view.dataset['url'] = state.live_view_url ?? '';
  if (!view.hidden) loadBrowser();
  warn(state.website_error);
  const isAsked = (state.fields ?? state.choices ?? []).length > 0;
  if (isAsked) showForm(state);
  else clear();
  if (state.external_action_message) say(state.external_action_message);
  else say(isAsked ? 'The site asks for this:' : (steps[state.flow_step] ?? 'Waiting for the site…'));
}

/** Loads the live view once the person opens it. */
function loadBrowser(): void {
  const url = view.dataset['url'] ?? '';
  if (view.open && frame.src !== url) frame.src = url;
}

function showForm({ fields = [], discovered_fields: details = [], choices = [], website_error: error }: State): void {
  const asked = JSON.stringify([fields, choices, error]);
  if (asked === shown) {
    // The service took the answer while the connection was lost, and the site repeats its question.
    if (form.inert) takeAnswers();
    return;
  }
  shown = asked;
  const inputs = fields.map((field) =>
    input(
      field,
      details.find(({ name }) => name === field.id),
    ),
  );
  const submits = fields.length > 0 ? [build('button', { className: 'primary' }, 'Continue')] : [];
  form.replaceChildren(...inputs, ...submits, ...groups(choices));
  form.hidden = false;
  takeAnswers();
}

function takeAnswers(): void {
  form.inert = false;
  form.querySelector<HTMLElement>('input, button')?.focus();
}

function input({ id, type, label = id, required = true }: Field, detail: Detail | undefined): HTMLElement {
  const autocomplete = autocompletes[type] ?? 'off';
  const isCode = autocomplete === 'one-time-code';
  const isSecret = type === 'password';
  const element = build('input', {
    id: `field-${id}`,
    name: id,
    type: isSecret ? 'password' : detail?.type === 'tel' ? 'tel' : 'text',
    inputMode: isCode ? 'numeric' : detail?.type === 'email' ? 'email' : '',
    autocomplete,
    autocapitalize: 'off',
    spellcheck: false,
    placeholder: detail?.placeholder ?? '',
    required,
    value: isSecret || isCode ? '' : (typed.get(id) ?? ''),
  });
  const block = build(
    'div',
    {},
    build('label', { htmlFor: element.id }, required ? label : `${label} (optional)`),
    element,
  );
  if (detail?.hint) {
    const hint = build('p', { id: `hint-${id}`, className: 'quiet' }, detail.hint);
    element.setAttribute('aria-describedby', hint.id);
    block.append(hint);
  }
  return block;
}

/** The choices, grouped by their types. */
function groups(choices: Choice[]): HTMLElement[] {
  return [...new Set(choices.map(({ type }) => type))].map((type) => {
    const buttons = choices.filter((choice) => choice.type === type).map(choiceButton);
    return build('fieldset', {}, build('legend', {}, headings[type] ?? 'Other ways'), ...buttons);
  });
}

function choiceButton({ id, label, description }: Choice): HTMLElement {
  const details = description && description !== label ? [build('small', {}, description)] : [];
  // A choice needs no values in the fields.
  const element = build('button', { formNoValidate: true }, label, ...details);
  element.dataset['choice'] = id;
  return element;
}

async function submit(choice: string | undefined): Promise<void> {
  const inputs = [...form.querySelectorAll('input')];
  for (const { name, value, type, autocomplete } of inputs) {
    if (type !== 'password' && autocomplete !== 'one-time-code') typed.set(name, value);
  }
  const filled = inputs.filter(({ value }) => value !== '').map(({ name, value }) => [name, value]);
  form.inert = true;
  warn(undefined);
  say('Sending…');
  const answer: Submission =
    choice === undefined ? { field_values: Object.fromEntries(filled) } : { selected_choice_id: choice };
  try {
    const response = await fetch(`login/submit${location.search}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    });
    if (response.ok) return;
    const { message } = (await response.json()) as { message: string };
    warn(message);
  } catch {
    warn('The service cannot be reached. Try again.');
  }
  say('This was not sent:');
  takeAnswers();
}

function end({ flow_status: status, error_message: message, error_code: code, website_error: error }: State): void {
  events.close();
  clear();
  intro.hidden = true;
  view.hidden = true;
  frame.src = 'about:blank';
  const hasSucceeded = status === 'SUCCESS';
  heading.textContent = hasSucceeded ? 'You are logged in' : 'The login did not succeed';
  document.title = heading.textContent;
  warn(error);
  say(hasSucceeded ? 'You can close this page.' : (message ?? 'Ask for a new link.'));
  const next = new URLSearchParams(location.search).get(hasSucceeded ? 'success_url' : 'error_url');
  if (next === null || !URL.canParse(next) || !/^https?:$/.test(new URL(next).protocol)) return;
  const url = new URL(next);
  const { domain = '', profile = '' } = document.querySelector('main')!.dataset;
  const told = hasSucceeded ? { profile_name: profile, domain } : { code: code ?? status, message: message ?? '' };
  for (const [name, value] of Object.entries(told)) url.searchParams.set(name, value);
  location.assign(url);
}

function clear(): void {
  shown = '';
  form.hidden = true;
  form.replaceChildren();
}

function warn(text = ''): void {
  alert.hidden = text === '';
  if (alert.textContent !== text) alert.textContent = text;
}
