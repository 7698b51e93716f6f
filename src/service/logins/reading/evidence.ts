import type { Entry } from './fields.ts';
import type { Clickable, ObservedFrame } from './observation.ts';
import { isAbout, providerIn } from './words.ts';

/** Facts with their points: for the searched thing if positive, against it if negative. */
type Evidence = [points: number, isTrue: boolean][];

/** The candidates with more evidence for them than against them, the most likely first. */
export function ranked<T>(candidates: T[], evidenceFor: (candidate: T) => Evidence): { found: T; score: number }[] {
  return candidates
    .map((found) => ({ found, score: sum(evidenceFor(found)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}

/** The evidence that a group of fields is the login. `submit` is its button, `main` the page's main frame. */
export function evidenceForLogin(group: Entry[], submit: Clickable | undefined, main: ObservedFrame): Evidence {
  const { frame, control } = group[0]!;
  const count = (role: Entry['role']) => group.filter((entry) => entry.role === role).length;
  const [passwords, newPasswords, codes] = [count('password'), count('new-password'), count('code')];
  const identifiers = count('identifier');
  const texts = group.filter((entry) => entry.role === 'text' && isOfLogin(entry)).length;
  const said = [submit?.text, control.groupHeading, control.formWords];
  const isForLogin = isAbout('logIn', ...said);
  const isForOthers = isAbout('signUp', submit?.text, control.groupHeading) || isAbout('newsletter', ...said);
  // On a page about logging in, a single field without any hint is the identifier.
  const isOnLoginPage = () => isAbout('logIn', main.title, ...main.headings, frame.title, ...frame.headings);
  const isUnknown = passwords + newPasswords + codes + identifiers === 0;
  const isLikely = isUnknown && texts > 0 && texts <= 3 && (isForLogin || isOnLoginPage() || isAboutCode(frame));
  return [
    [12, passwords === 1 && newPasswords === 0],
    [-6, passwords > 1 || (passwords === 1 && newPasswords > 0)],
    // Some logins mark their password as a new one, so that browsers don't fill it in.
    [isForOthers ? -6 : 8, passwords === 0 && newPasswords === 1],
    [-10, newPasswords > 1],
    [8, codes > 0],
    [3, identifiers > 0],
    [
      4,
      group.some((entry) => /\b(username|webauthn|current-password|one-time-code)\b/.test(entry.control.autocomplete)),
    ],
    [5, isForLogin],
    [3, !isForLogin && isAbout('next', submit?.text)],
    [isLikely ? 3 : -12, isUnknown],
    [-9, isForOthers && !isForLogin],
    [-6, isAbout('signUp', control.formWords) && !isForLogin],
    [-9, count('search') + count('newsletter') > 0 && passwords + codes === 0],
    [-5, texts > 4],
    [-12, control.inSearch],
    [-5, control.inFooter],
    [-3, control.inHeader && passwords === 0],
    [2, control.inDialog],
    [-1, !frame.isMain],
  ];
}

/** The evidence that a clickable element submits the fields. */
export function evidenceForSubmit({ text, isSubmit, tag, type, role }: Clickable, isBelow: boolean): Evidence {
  const isOther = isAbout(['cancel', 'forgot', 'anotherWay', 'passkey'], text);
  return [
    [2, isBelow],
    [3, isSubmit],
    [1, !isSubmit && (tag === 'button' || type === 'button' || role === 'button')],
    [-6, isOther],
    [-2, !isOther && isAbout('signUp', text) && !isAbout('logIn', text)],
    [4, !isOther && saysSubmit(text)],
    // A button for a provider or another method has more words than a submit button.
    [-5, !isOther && (text.length > 40 || providerIn(text) !== undefined)],
  ];
}

/** The evidence that a clickable element leads to the login. */
export function evidenceForLink(clickable: Clickable): Evidence {
  const { text, accessibleName, href, visible, inHeader, inFooter } = clickable;
  if (text.length > 60 || (href !== '' && !/^https?:/i.test(href))) return [];
  const says = isAbout('logIn', text, accessibleName);
  const path = URL.canParse(href) ? new URL(href).pathname + new URL(href).search + new URL(href).hash : '';
  const leads = loginPath.test(path);
  if (!says && !leads) return [];
  return [
    [6, says],
    [4, leads],
    [2, visible],
    [1, inHeader],
    [-1, inFooter],
    [-8, isAbout('signUp', text) && !says],
    [-8, isAbout('forgot', text)],
    // "How to log in to …" is an article.
    [-Math.floor(text.length / 25), true],
  ];
}

const loginPath =
  /(^|[/?#=_.-])(log[-_]?[io]n|sign[-_]?in|anmelden|einloggen|connexion|acceso|entrar|accedi|auth|sso|session\/new|sessions\/new)([/?#=_.-]|$)/i;

/** Whether a text is typical for a submit button. */
export function saysSubmit(text: string): boolean {
  return isAbout(['logIn', 'next', 'submit'], text);
}

export function isAboutCode({ headings, lines }: ObservedFrame): boolean {
  return isAbout('code', ...headings, ...lines.slice(0, 40));
}

/** Whether a login can have a field with this role. */
export function isOfLogin({ role, control }: Entry): boolean {
  if (role !== 'text') return ['identifier', 'password', 'new-password', 'code'].includes(role);
  const { label, placeholder, type, required } = control;
  return !isAbout('newsletter', label, placeholder) && (type !== 'select' || required);
}

function sum(evidence: Evidence): number {
  return evidence.reduce((total, [points, isTrue]) => (isTrue ? total + points : total), 0);
}
