// @ts-check
// Runs in the page on which a person logs in: shows what the site asks, sends what the person answers, and follows the login to its end.

/**
 * @typedef {{ id: string, type: string, label: string, required?: boolean }} Field
 * @typedef {{ name: string, type: string, placeholder?: string, hint?: string }} Detail
 * @typedef {{ id: string, type: string, label: string, description?: string }} Choice
 * @typedef {{
 *   event: string, flow_status: string, flow_step: string, fields?: Field[], discovered_fields?: Detail[], choices?: Choice[],
 *   mfa_options?: { label: string, target?: string }[], external_action_message?: string, website_error?: string, error_message?: string,
 *   error_code?: string, live_view_url?: string }} State
 */

const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'));
const alert = /** @type {HTMLElement} */ (document.querySelector('[role=alert]'));
const form = /** @type {HTMLFormElement} */ (document.querySelector('form'));
const view = /** @type {HTMLDetailsElement} */ (document.querySelector('details'));
const frame = /** @type {HTMLIFrameElement} */ (document.querySelector('iframe'));
const heading = /** @type {HTMLElement} */ (document.querySelector('h1'));

const steps = { DISCOVERING: 'Opening the site…', SUBMITTING: 'One moment, the site is working…' };
const headings = {
  sso_provider: 'Log in with',
  mfa_method: 'Confirm that it is you',
  account: 'Choose an account',
};

/** What the form was made for. */
let shown = '';
/** Values that are offered again when the site asks again; secrets never are.
 * @type {Map<string, string>} */
const typed = new Map();

const events = new EventSource(`login/events${location.search}`);
events.addEventListener('message', ({ data }) => {
  const state = JSON.parse(data);
  if (state.event === 'managed_auth_state') show(state);
});
events.addEventListener('error', () => {
  const isGone = events.readyState === EventSource.CLOSED;
  say(isGone ? 'This login is over. Ask for a new link.' : 'The service cannot be reached; trying again.');
  if (isGone) clear();
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submit(event.submitter?.dataset['choice']);
});
view.addEventListener('toggle', () => {
  const url = view.dataset['url'] ?? '';
  if (view.open && frame.src !== url) frame.src = url;
});

/** @param {State} state */
function show(state) {
  if (state.flow_status !== 'IN_PROGRESS') return end(state);
  showBrowser(state.live_view_url);
  warn(state.website_error);
  const isAsked = (state.fields ?? state.choices ?? []).length > 0;
  if (isAsked) ask(state);
  else clear();
  if (state.external_action_message) say(state.external_action_message);
  else say(isAsked ? 'The site asks for this:' : (steps[/** @type {keyof typeof steps} */ (state.flow_step)] ?? 'Waiting for the site…'));
}

/** @param {State} state */
function ask({ fields = [], discovered_fields: details = [], choices = [], website_error: error }) {
  const asked = JSON.stringify([fields, choices, error]);
  if (asked === shown) {
    // The answer was taken while the connection was lost, and the site asks for the same again.
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
  const submits = fields.length > 0 ? [button('Continue')] : [];
  form.replaceChildren(...inputs, ...submits, ...groups(choices));
  form.hidden = false;
  takeAnswers();
}

function takeAnswers() {
  form.inert = false;
  form.querySelector('input, button')?.focus();
}

/** @param {Field} field @param {Detail | undefined} detail */
function input({ id, type, label, required }, detail) {
  const element = document.createElement('input');
  element.id = `field-${id}`;
  element.name = id;
  element.required = required !== false;
  element.spellcheck = false;
  element.autocapitalize = 'off';
  element.placeholder = detail?.placeholder ?? '';
  const isCode = type === 'code' || type === 'totp_code';
  const isSecret = type === 'password';
  element.type = isSecret ? 'password' : detail?.type === 'tel' ? 'tel' : 'text';
  if (isCode) element.inputMode = 'numeric';
  else if (detail?.type === 'email') element.inputMode = 'email';
  element.autocomplete = isCode ? 'one-time-code' : type === 'password' ? 'current-password' : type === 'identifier' ? 'username' : 'off';
  if (!isSecret && !isCode) element.value = typed.get(id) ?? '';
  const name = document.createElement('label');
  name.htmlFor = element.id;
  name.textContent = element.required ? label : `${label} (optional)`;
  const block = document.createElement('div');
  block.append(name, element);
  if (detail?.hint) {
    const hint = document.createElement('p');
    hint.className = 'quiet';
    hint.id = `hint-${id}`;
    hint.textContent = detail.hint;
    element.setAttribute('aria-describedby', hint.id);
    block.append(hint);
  }
  return block;
}

/** The choices, those of a kind together. @param {Choice[]} choices */
function groups(choices) {
  const types = [...new Set(choices.map(({ type }) => type))];
  return types.map((type) => {
    const group = document.createElement('fieldset');
    const legend = document.createElement('legend');
    legend.textContent = headings[/** @type {keyof typeof headings} */ (type)] ?? 'Other ways';
    const buttons = choices.filter((choice) => choice.type === type).map(choiceButton);
    group.append(legend, ...buttons);
    return group;
  });
}

/** @param {Choice} choice */
function choiceButton({ id, label, description }) {
  const element = button(label);
  element.dataset['choice'] = id;
  element.classList.add('choice');
  // What the fields lack is no reason not to choose.
  element.formNoValidate = true;
  if (description && description !== label) {
    const text = document.createElement('small');
    text.textContent = description;
    element.append(text);
  }
  return element;
}

/** @param {string} text */
function button(text) {
  const element = document.createElement('button');
  element.textContent = text;
  return element;
}

/** @param {string | undefined} choice */
async function submit(choice) {
  const inputs = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll('input')]);
  for (const { name, value, type, autocomplete } of inputs) {
    if (type !== 'password' && autocomplete !== 'one-time-code') typed.set(name, value);
  }
  const filled = inputs.filter(({ value }) => value !== '').map(({ name, value }) => [name, value]);
  form.inert = true;
  warn(undefined);
  say('Sending…');
  const answer = choice === undefined ? { field_values: Object.fromEntries(filled) } : { selected_choice_id: choice };
  try {
    const response = await fetch(`login/submit${location.search}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    });
    if (response.ok) return;
    const { message } = await response.json();
    warn(message);
  } catch {
    warn('The service cannot be reached. Try again.');
  }
  say('This was not sent:');
  takeAnswers();
}

/** @param {State} state */
function end({ flow_status: status, error_message: message, error_code: code, website_error: error }) {
  events.close();
  clear();
  view.hidden = true;
  frame.src = 'about:blank';
  const hasSucceeded = status === 'SUCCESS';
  heading.textContent = hasSucceeded ? 'You are logged in' : 'The login did not succeed';
  document.title = heading.textContent;
  warn(error);
  say(hasSucceeded ? 'You can close this page.' : (message ?? 'Ask for a new link.'));
  const query = new URLSearchParams(location.search);
  const next = query.get(hasSucceeded ? 'success_url' : 'error_url');
  if (next === null || !URL.canParse(next) || !/^https?:$/.test(new URL(next).protocol)) return;
  const url = new URL(next);
  const { domain = '', profile = '' } = /** @type {HTMLElement} */ (document.querySelector('main')).dataset;
  const told = hasSucceeded ? { profile_name: profile, domain } : { code: code ?? status, message: message ?? '' };
  for (const [name, value] of Object.entries(told)) url.searchParams.set(name, value);
  location.assign(url);
}

/** @param {string | undefined} url */
function showBrowser(url) {
  view.hidden = url === undefined;
  if (url === undefined) return;
  view.dataset['url'] = url;
  if (view.open && frame.src !== url) frame.src = url;
}

function clear() {
  shown = '';
  form.hidden = true;
  form.replaceChildren();
}

/** @param {string} text */
function say(text) {
  if (status.textContent !== text) status.textContent = text;
}

/** @param {string | undefined} text */
function warn(text) {
  alert.hidden = text === undefined;
  if (alert.textContent !== (text ?? '')) alert.textContent = text ?? '';
}
