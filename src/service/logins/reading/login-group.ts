import { evidenceForLogin, evidenceForSubmit, isAboutCode, isOfLogin, ranked, saysSubmit } from './evidence.ts';
import type { Entry } from './fields.ts';
import type { Box, Clickable, ObservedFrame } from './observation.ts';
import { isAbout } from './words.ts';

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
  const candidates = [...groups.values()].filter((group) => group.some(isOfLogin));
  const best = ranked(candidates, (group) => evidenceForLogin(group, submitOf(group, group[0]!.frame), frames[0]!))[0];
  if (!best) return undefined;
  const { frame } = best.found[0]!;
  const found = withIdentifierBefore(
    uncovered(best.found.filter(isOfLogin)).map((entry) => inGroup(entry, best.found)),
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
  const isBelow = ({ box }: Clickable) => box.y >= last.box.y - 10;
  const candidates = frame.clickables.filter(
    (found) =>
      found.visible &&
      (found.isButton || isScripted(found)) &&
      isFree(found) &&
      !isAbout(['toggle', 'cookies'], found.text),
  );
  const scored = ranked(candidates, (found) => evidenceForSubmit(found, isBelow(found)));
  const own = scored.find(({ found }) =>
    control.form >= 0 ? found.form === control.form : found.groups.includes(control.group),
  );
  // Some forms have their button outside of the form element.
  const outer = scored.find(({ found, score }) => found.form < 0 && score >= 6 && isBelow(found));
  return (own ?? outer)?.found;
}

/** Whether a link has no address and the text of a button. */
function isScripted({ tag, href, text, role }: Clickable): boolean {
  const leadsNowhere =
    role === 'link' || (tag === 'a' && /^(javascript:.*|[^#]*#?)$/i.test(href) && !/^https?:[^#]*$/i.test(href));
  return leadsNowhere && text.length <= 40 && saysSubmit(text);
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1 && a.y < b.y + b.height - 1 && b.y < a.y + a.height - 1;
}
