import type { Entry } from './fields.ts';
import type { Box, Clickable, ObservedFrame } from './observation.ts';
import { isAbout, providerIn } from './words.ts';

/** The login part of a page: its fields, its identifier field, and the button that submits them. */
export type LoginGroup = {
  frame: ObservedFrame;
  entries: Entry[];
  identifier: Entry | undefined;
  submit: Clickable | undefined;
};

/** The group of fields that is most likely the login; `undefined` if the page has none. */
export function loginGroup(frames: ObservedFrame[], entries: Entry[]): LoginGroup | undefined {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = `${entry.frame.frameId} ${entry.control.group}`;
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  const scored = [...groups.values()]
    .filter((group) => group.some(isOfLogin))
    .map((group) => ({ group, score: scoreOf(group, frames[0]!) }));
  const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)[0];
  if (!best) return undefined;
  const { frame } = best.group[0]!;
  const found = withIdentifierBefore(
    uncovered(best.group.filter(isOfLogin)).map((entry) => inGroup(entry, best.group)),
    entries,
  );
  return { frame, entries: found, identifier: identifierOf(found, frame), submit: submitOf(found, frame) };
}

/** The text of a page around its login fields, without its links and buttons. */
export function contextOf(frame: ObservedFrame): string {
  return [frame.title, ...frame.headings, ...saidIn(frame)].join(' ').slice(0, 3000);
}

/** Removes covered fields if the group has uncovered ones: fields behind others are traps for robots. */
function uncovered(group: Entry[]): Entry[] {
  return group.some((entry) => !isBehind(entry) && entry.role !== 'password')
    ? group.filter((entry) => !isBehind(entry))
    : group;
}

function isBehind({ role, control }: Entry): boolean {
  return control.covered && (role === 'identifier' || role === 'text');
}

/** An entry with its role among the entries of its group. */
function inGroup(entry: Entry, group: Entry[]): Entry {
  const { role, control, boxes, frame } = entry;
  const { label, placeholder, masked, autocomplete } = control;
  const hasRole = (one: Entry['role']) => group.some((other) => other !== entry && other.role === one);
  // On a page about a code, the only field takes the code.
  if (role === 'text' && control.type !== 'select' && group.filter(isOfLogin).length === 1 && isAboutCode(frame))
    return { ...entry, role: 'code' };
  if (role !== 'code' || boxes.length > 1 || autocomplete.includes('one-time-code')) return entry;
  // A masked field after the identifier, such as "Personal code", is a password.
  if (masked && hasRole('identifier') && !hasRole('password')) return { ...entry, role: 'password' };
  // A field before a password, such as "User code" or "Company code", is an identifier.
  if (!group.slice(group.indexOf(entry)).some((later) => later.role === 'password')) return entry;
  return {
    ...entry,
    role: isAbout('identifier', label, placeholder) || !hasRole('identifier') ? 'identifier' : 'text',
  };
}

/** The lines of a page, without the texts of clickable elements. */
export function saidIn({ lines, clickables }: ObservedFrame): string[] {
  const offered = clickables.flatMap(({ text, label }) => [text, label]).filter((text) => text.length > 3);
  return lines
    .map((line) => offered.reduce((rest, text) => rest.replace(text, ' '), line).trim())
    .filter((line) => line !== '');
}

function isAboutCode({ headings, lines }: ObservedFrame): boolean {
  return isAbout('code', ...headings, ...lines.slice(0, 40));
}

function isOfLogin({ role, control }: Entry): boolean {
  if (role === 'text')
    return (
      !isAbout('newsletter', control.label, control.placeholder) && (control.type !== 'select' || control.required)
    );
  return role === 'identifier' || role === 'password' || role === 'new-password' || role === 'code';
}

function scoreOf(group: Entry[], main: ObservedFrame): number {
  const { frame, control } = group[0]!;
  const count = (role: Entry['role']) => group.filter((entry) => entry.role === role).length;
  const [passwords, newPasswords, codes, identifiers] = [
    count('password'),
    count('new-password'),
    count('code'),
    count('identifier'),
  ];
  const texts = group.filter((entry) => entry.role === 'text' && isOfLogin(entry)).length;
  const submit = submitOf(group, frame);
  const said = [submit?.text, control.groupHeading, control.formWords];
  const isForLogin = isAbout('logIn', ...said);
  const isForOthers = isAbout('signUp', submit?.text, control.groupHeading) || isAbout('newsletter', ...said);
  let score = 0;
  if (passwords === 1) score += newPasswords > 0 ? -6 : 12;
  if (passwords > 1) score -= 6;
  // Some logins mark their password as a new one, so that browsers don't fill it in.
  if (passwords === 0 && newPasswords === 1) score += isForOthers ? -6 : 8;
  if (newPasswords > 1) score -= 10;
  if (codes > 0) score += 8;
  if (identifiers > 0) score += 3;
  if (
    group.some(({ control: { autocomplete } }) =>
      /\b(username|webauthn|current-password|one-time-code)\b/.test(autocomplete),
    )
  )
    score += 4;
  if (isForLogin) score += 5;
  else if (isAbout('next', submit?.text)) score += 3;
  if (passwords + newPasswords + codes + identifiers === 0) {
    // On a page about logging in, a single field without any hint is the identifier.
    const onLoginPage = isAbout('logIn', main.title, ...main.headings, frame.title, ...frame.headings);
    const onCodePage = isAboutCode(frame);
    score += texts > 0 && texts <= 3 && (isForLogin || onLoginPage || onCodePage) ? 3 : -12;
  }
  if (isForOthers && !isForLogin) score -= 9;
  if (isAbout('signUp', control.formWords) && !isForLogin) score -= 6;
  if (count('search') + count('newsletter') > 0 && passwords + codes === 0) score -= 9;
  if (texts > 4) score -= 5;
  if (control.inSearch) score -= 12;
  if (control.inFooter) score -= 5;
  if (control.inHeader && passwords === 0) score -= 3;
  if (control.inDialog) score += 2;
  if (!frame.isMain) score -= 1;
  return score;
}

/** Some pages have the identifier outside of the part with the password. */
function withIdentifierBefore(group: Entry[], entries: Entry[]): Entry[] {
  const password = group.find(({ role }) => role === 'password');
  if (!password || group.some(({ role }) => role === 'identifier' || role === 'text')) return group;
  const before = entries.slice(0, entries.indexOf(password)).filter(({ frame }) => frame === password.frame);
  const last = before.at(-1);
  const belongs =
    last && (last.role === 'identifier' || last.role === 'text') && !last.control.inHeader && !last.control.inFooter;
  if (
    !belongs ||
    (last.control.form >= 0 &&
      password.control.form >= 0 &&
      last.control.group !== password.control.group &&
      !isNear(last, password))
  )
    return group;
  return [last, ...group];
}

function isNear(a: Entry, b: Entry): boolean {
  return Math.abs(a.control.box.y - b.control.box.y) < 160;
}

/** Chooses the clearest of several possible identifiers: a login may also ask for a company. */
function identifierOf(group: Entry[], frame: ObservedFrame): Entry | undefined {
  const candidates = group.filter(({ role }) => role === 'identifier');
  const byToken = candidates.find(({ control }) => /\b(username|webauthn|email)\b/.test(control.autocomplete));
  const byType = candidates.find(({ control }) => control.type === 'email');
  if (candidates.length > 0) return byToken ?? byType ?? candidates.at(-1);
  const texts = group.filter(
    ({ role, control }) => role === 'text' && control.type !== 'select' && !/date|time|month|week/.test(control.type),
  );
  const password = group.findIndex(({ role }) => role === 'password');
  // Some logins offer a list of users.
  if (password > 0) return texts.findLast((entry) => group.indexOf(entry) < password) ?? group[password - 1];
  const isAlone = group.every(({ role }) => role === 'text');
  return isAlone && texts.length === 1 && !isAboutCode(frame) ? texts[0] : undefined;
}

/** The button that submits the fields of a group. */
function submitOf(group: Entry[], frame: ObservedFrame): Clickable | undefined {
  const { control } = group[0]!;
  const last = group.at(-1)!.control;
  const isFree = ({ box }: Clickable) => !group.some(({ boxes }) => boxes.some((field) => overlap(field.box, box)));
  const scored = frame.clickables
    .filter(
      (found) =>
        found.visible &&
        (found.isButton || isScripted(found)) &&
        isFree(found) &&
        !isAbout(['toggle', 'cookies'], found.text),
    )
    .map((found) => ({ found, score: submitScore(found, found.box.y >= last.box.y - 10) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const own = scored.find(({ found }) =>
    control.form >= 0 ? found.form === control.form : found.groups.includes(control.group),
  );
  // Some forms have their button outside of the form element.
  const outer = scored.find(({ found, score }) => found.form < 0 && score >= 6 && found.box.y >= last.box.y - 10);
  return (own ?? outer)?.found;
}

/** Whether a link has no address and the text of a button. */
function isScripted({ tag, href, text, role }: Clickable): boolean {
  const leadsNowhere =
    role === 'link' || (tag === 'a' && /^(javascript:.*|[^#]*#?)$/i.test(href) && !/^https?:[^#]*$/i.test(href));
  return leadsNowhere && text.length <= 40 && saysSubmit(text);
}

/** Whether a text is typical for a submit button. */
export function saysSubmit(text: string): boolean {
  return isAbout(['logIn', 'next', 'submit'], text);
}

function submitScore({ text, isSubmit, tag, type, role }: Clickable, isBelow: boolean): number {
  let score = isBelow ? 2 : 0;
  if (isSubmit) score += 3;
  else if (tag === 'button' || type === 'button' || role === 'button') score += 1;
  if (isAbout(['cancel', 'forgot', 'anotherWay', 'passkey'], text)) return score - 6;
  if (isAbout('signUp', text) && !isAbout('logIn', text)) score -= 2;
  if (saysSubmit(text)) score += 4;
  // A button for a provider or another method has more words than a submit button.
  if (providerIn(text) !== undefined || text.length > 40) score -= 5;
  return score;
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1 && a.y < b.y + b.height - 1 && b.y < a.y + a.height - 1;
}
