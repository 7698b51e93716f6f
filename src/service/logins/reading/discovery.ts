import { choicesOf } from './choices.ts';
import { entriesOf, fieldOf, type Entry } from './fields.ts';
import { evidenceForLink, ranked, saysSubmit } from './evidence.ts';
import { contextOf, loginGroup, saidIn } from './login-group.ts';
import type { LoginChoice, LoginField, LoginForm } from './login-form.ts';
import type { Clickable, Message, ObservedFrame } from './observation.ts';
import { isAbout } from './words.ts';

/** An element by its frame and its number there. */
export type Target = { frameId: string; url: string; origin: string; element: number };

/** A form, with the page's elements for its fields and choices. */
export type Discovery = {
  form: LoginForm;
  /** The boxes of each field, by its id. */
  boxes: Map<string, Target[]>;
  choices: Map<string, Target & { isRadio: boolean }>;
  /** The button for the fields or a chosen radio button. */
  submit: Target | undefined;
  /** Whether some of its elements can't be used yet. */
  isWaiting: boolean;
  /** Whether the page offers to log out. */
  canLogOut: boolean;
  /** Whether the page has a link to the login. */
  leadsToLogin: boolean;
  hasCaptcha: boolean;
};

/**
 * Finds the questions of a page. `before` has the messages that the page showed before a submission; it is missing if
 * nothing was submitted.
 */
export function discover(frames: ObservedFrame[], before?: Message[]): Discovery {
  const entries = frames.flatMap(entriesOf);
  const group = loginGroup(frames, entries);
  const main = frames[0]!;
  const fields: LoginField[] = [];
  const boxes = new Map<string, Target[]>();
  for (const entry of group?.entries ?? []) {
    const field = fieldOf(entry, entry === group?.identifier, contextOf(entry.frame));
    const id = unused(field.id, boxes);
    fields.push({ ...field, id });
    const inFrame = entry.boxes.map((box) => targetOf(entry.frame, box));
    boxes.set(id, inFrame);
  }
  const choices: LoginChoice[] = [];
  const clicks: Discovery['choices'] = new Map();
  const canLogOut = frames.some(({ clickables }) => clickables.some(isLogOut));
  for (const { frame, clickable, ...found } of group || !canLogOut ? choicesOf(frames, group) : []) {
    const id = unused(found.provider ?? found.mfa_type ?? found.type, clicks);
    choices.push({ id, ...found });
    clicks.set(id, {
      ...targetOf(frame, clickable),
      isRadio: clickable.type === 'radio' || clickable.role === 'radio',
    });
  }
  const error = errorIn(frames, before);
  const action = group || canLogOut ? undefined : externalActionIn(frames);
  return {
    form: {
      url: main.url,
      ...(group && { origin: group.frame.origin }),
      fields,
      choices,
      website_error: error,
      external_action_message: action,
      not_found: notFound(entries, group?.entries ?? [], group?.submit !== undefined),
    },
    boxes,
    choices: clicks,
    submit: group?.submit ? targetOf(group.frame, group.submit) : radioSubmit(frames, [...clicks.values()]),
    isWaiting: (group?.entries ?? []).some(({ control }) => control.disabled),
    canLogOut,
    leadsToLogin: frames.some(({ clickables }) =>
      clickables.some((clickable) => clickable.visible && isAbout('logIn', clickable.text) && !isLogOut(clickable)),
    ),
    hasCaptcha: frames.some(({ hasCaptcha }) => hasCaptcha),
  };
}

function isLogOut({ text, accessibleName, href }: Clickable): boolean {
  return isAbout('logOut', text, accessibleName) || /[/_.-](log|sign)[_-]?(out|off)\b/i.test(href);
}

/** Whether a page has a login form or a button of a provider. */
export function asksToLogIn(frames: ObservedFrame[]): boolean {
  const { form } = discover(frames);
  return form.fields.length > 0 || form.choices.some(({ type }) => type === 'sso_provider');
}

/**
 * The links of a page to its login, the likeliest first. They include links in closed menus, because their addresses
 * can be opened.
 */
export function loginLinks({ clickables }: ObservedFrame): Clickable[] {
  const candidates = clickables.filter((found) => (found.visible || found.href !== '') && !isLogOut(found));
  return ranked(candidates, evidenceForLink).map(({ found }) => found);
}

function targetOf({ frameId, url, origin }: ObservedFrame, { element }: { element: number }): Target {
  return { frameId, url, origin, element };
}

function unused(id: string, taken: Map<string, unknown>): string {
  if (!taken.has(id)) return id;
  for (let number = 2; ; number++) if (!taken.has(`${id}_${number}`)) return `${id}_${number}`;
}

/** The button that confirms a radio button. */
function radioSubmit(frames: ObservedFrame[], choices: (Target & { isRadio: boolean })[]): Target | undefined {
  const radio = choices.find(({ isRadio }) => isRadio);
  const frame = frames.find(({ frameId }) => frameId === radio?.frameId);
  if (!radio || !frame) return undefined;
  const { form } = frame.clickables.find(({ element }) => element === radio.element)!;
  const taken = new Set(choices.map(({ element }) => element));
  const buttons = frame.clickables.filter(
    ({ visible, isButton, element, text }) => visible && isButton && !taken.has(element) && !isAbout('cancel', text),
  );
  const button =
    buttons.find((found) => form >= 0 && found.form === form && found.isSubmit) ??
    buttons.find(({ text }) => saysSubmit(text));
  return button ? targetOf(frame, button) : undefined;
}

/** The site's error text. Vaguer kinds of messages count only if they are new. */
function errorIn(frames: ObservedFrame[], before: Message[] | undefined): string | undefined {
  const messages = frames
    .flatMap((frame) => frame.messages)
    .filter(({ text }) => text.length <= 300 && !isAbout('cookies', text) && !/(…|\.\.\.)$/.test(text));
  const known = new Set((before ?? []).map(({ text }) => text));
  const found = (before && messages.find(({ text }) => !known.has(text))) ?? messages.find(isSure);
  return found?.text;
}

function isSure({ kind }: Message): boolean {
  return kind === 'alert' || kind === 'tied' || kind === 'class';
}

/** The sentences that ask for an action outside of the page. Only on pages with little other text. */
function externalActionIn(frames: ObservedFrame[]): string | undefined {
  for (const frame of frames) {
    const all = [...new Set([...frame.headings, ...saidIn(frame)])];
    if (all.join(' ').length > 2500) continue;
    const asking = all.filter((line) => line.length < 300 && isAbout('approval', line));
    // A line with only a number: the person compares it with the app, or enters it there.
    const numbers = all.filter((line) => /^\d{1,3}$/.test(line));
    if (asking.length > 0) return [...asking.slice(0, 3), ...numbers.slice(0, 1)].join(' ').slice(0, 500);
  }
  return undefined;
}

function notFound(entries: Entry[], found: Entry[], hasSubmit: boolean): string[] {
  const unnamed = found.filter(
    ({ control }) => control.labelledBy === '' && control.name === '' && control.id === '',
  ).length;
  const missing = Array.from({ length: unnamed }, () => 'a field without a name or label');
  const secrets = entries.filter(({ role }) => role === 'password' || role === 'code').length;
  if (found.length === 0 && secrets > 0)
    missing.push(`${secrets} fields for passwords or codes, none of which looks like a login`);
  if (found.length > 0 && !hasSubmit) missing.push('a button that submits the fields');
  return missing;
}
