import { maskedPhone, slug } from './fields.ts';
import type { LoginChoice, MfaType } from './login-form.ts';
import { contextOf, type LoginGroup } from './login-group.ts';
import type { Clickable, ObservedFrame } from './observation.ts';
import { isAbout, providerIn, signInName } from './words.ts';

/** A choice with the element to click. */
export type FoundChoice = Omit<LoginChoice, 'id'> & { frame: ObservedFrame; clickable: Clickable };

/**
 * Finds the choices of a login page: SSO providers, second factors, accounts and other ways to log in. `group` has the
 * page's login fields, if there are any.
 */
export function choicesOf(frames: ObservedFrame[], group: LoginGroup | undefined): FoundChoice[] {
  const asksWho = group?.identifier !== undefined;
  const isAtStart = asksWho || group === undefined;
  const isAtSecond =
    group === undefined || (!asksWho && group.entries.every(({ role }) => role === 'code' || role === 'password'));
  const found = frames.flatMap((frame) =>
    frame.clickables
      .filter((clickable) => isOffered(clickable, frame, group))
      .map((clickable) => ({ frame, clickable, text: `${clickable.text} ${clickable.accessibleName}`.trim() })),
  );
  const sso = found
    .filter(() => isAtStart || group?.entries.some(({ role }) => role === 'password'))
    .flatMap((one) => ssoOf(one, group) ?? []);
  const taken = new Set(sso.map(({ clickable }) => clickable));
  const rest = found.filter(({ clickable }) => !taken.has(clickable));
  const methods = isAtSecond ? rest.flatMap((one) => methodChoice(one, group) ?? []) : [];
  // A button that mentions mail or phones isn't enough evidence for a second factor.
  const areMethods =
    group !== undefined ||
    methods.some(({ clickable, target }) => clickable.type === 'radio' || target !== undefined) ||
    frames.some(asksForMethod);
  const mayAskElse = group === undefined && sso.length === 0 && !(areMethods && methods.length > 0);
  const others = mayAskElse ? frames.flatMap((frame) => othersOf(frame, rest)) : [];
  return distinct([...sso, ...(areMethods ? methods : []), ...(asksWho ? signInMethods(rest, group) : []), ...others]);
}

type Found = { frame: ObservedFrame; clickable: Clickable; text: string };

function isOffered(
  { visible, disabled, text, accessibleName, inFooter, role, box, element }: Clickable,
  frame: ObservedFrame,
  group: LoginGroup | undefined,
): boolean {
  if (!visible || disabled || inFooter || role === 'menuitem' || frame.width < 60 || frame.height < 20) return false;
  if (group?.frame === frame && group.submit?.element === element) return false;
  // A clickable part as large as the page isn't a choice.
  if (text.length > 200 || box.height > 400) return false;
  return !isAbout(['cookies', 'forgot', 'passkey', 'logOut'], text) && !isAbout('forgot', accessibleName);
}

function ssoOf({ frame, clickable, text }: Found, group: LoginGroup | undefined): FoundChoice | undefined {
  const { href, isButton, groups, inHeader } = clickable;
  if (text.length > 90 || clickable.type === 'radio' || (isAbout('signUp', text) && !isAbout('logIn', text)))
    return undefined;
  const named = providerIn(text);
  const withOne = signInName(text);
  const leadsToLogin =
    /oauth|openid|saml|\/sso|[/._-](auth|login|signin|connect|authorize)([/?._-]|$)/i.test(href) || isButton;
  const isBeside =
    group === undefined || groups.some((number) => group.entries[0]!.control.group === number) || !inHeader;
  // A button with only a provider's name is a choice only on a login page.
  const isOnLogin =
    group !== undefined || isAbout('logIn', frame.title, ...frame.headings, ...frame.lines.slice(0, 10));
  const isNamed =
    named !== undefined &&
    leadsToLogin &&
    isBeside &&
    (withOne !== undefined || isAbout(['logIn', 'next'], text) || (text.length <= named.length + 12 && isOnLogin));
  const isSso = /(?<!\p{L})(sso|single[\s-]?sign[\s-]?on|saml)(?!\p{L})/iu.test(text);
  const isOther = withOne !== undefined && !isOwnMethod(withOne) && leadsToLogin;
  if (!isNamed && !isSso && !isOther) return undefined;
  const provider =
    isSso && (named === undefined || named === 'sso' || named === 'saml') ? 'sso' : providerOf(named ?? withOne!);
  return { ...choiceOf({ frame, clickable }), type: 'sso_provider', provider };
}

/** Whether the words after "sign in with" name a method of the site itself instead of another company. */
function isOwnMethod(name: string): boolean {
  return (
    isAbout(['identifier', 'password', 'code', 'sms', 'passkey', 'email', 'phone'], name) ||
    /^(a|an|your|another|different|qr)\b/i.test(name)
  );
}

function providerOf(name: string): string {
  const known = /^(azure|entra)/.test(name) ? 'microsoft' : name;
  return slug(known) || known.toLowerCase();
}

function methodChoice({ frame, clickable, text }: Found, group: LoginGroup | undefined): FoundChoice | undefined {
  const own = `${text} ${clickable.description}`;
  const isRadio = clickable.type === 'radio' || clickable.role === 'radio';
  if (text.length > 160 || clickable.inHeader || isAbout('toggle', clickable.label)) return undefined;
  if (!isAbout('anotherWay', clickable.label) && isAbout('cancel', clickable.label)) return undefined;
  const mfaType = mfaTypeOf(own);
  if (mfaType === undefined && !isRadio) return undefined;
  // On a page with fields, a link that only mentions mail or phones has another purpose.
  if (group && !isRadio && mfaType === 'email' && !isAbout(['code', 'logIn'], text) && !isMasked(own)) return undefined;
  if (group?.entries.some(({ role }) => role === 'password') && mfaType === 'password') return undefined;
  const isAuth = mfaType === 'password' || mfaType === 'switch';
  return {
    ...choiceOf({ frame, clickable }),
    type: isAuth ? 'auth_method' : 'mfa_method',
    description: clickable.description || undefined,
    mfa_type: mfaType,
    target: targetOf(own),
  };
}

function mfaTypeOf(text: string): MfaType | undefined {
  if (isAbout('anotherWay', text)) return 'switch';
  if (isAbout('authenticator', text)) return 'totp';
  if (/@(?<=[•*×][^\s@]*@)\S/u.test(text)) return 'email';
  if (isAbout('call', text) && !isAbout('sms', text)) return 'call';
  if (isAbout('sms', text) || maskedPhone.test(text)) return 'sms';
  if (isAbout('push', text)) return 'push';
  if (isAbout('email', text)) return 'email';
  return isAbout('password', text) ? 'password' : undefined;
}

function isMasked(text: string): boolean {
  return maskedPhone.test(text) || /@(?<=[•*×][^\s@]*@)/u.test(text);
}

function targetOf(text: string): string | undefined {
  return (/(?<![^\s:(])[^\s:(]*[•*×][^\s)]*@[^\s),]+/u.exec(text) ??
    /\+?[\d(•*×xX][\d\s()•*×xX.-]{3,}\d/u.exec(text))?.[0].trim();
}

function asksForMethod({ title, headings, lines }: ObservedFrame): boolean {
  const said = headings.length > 0 ? [title, ...headings] : [title, ...lines.slice(0, 10)];
  return isAbout(['code', 'submit', 'anotherWay', 'approval'], ...said) || isAbout('approval', ...lines.slice(0, 10));
}

/** Other ways to identify oneself, such as "Log in with your phone number". */
function signInMethods(found: Found[], group: LoginGroup | undefined): FoundChoice[] {
  return found.flatMap(({ frame, clickable, text }) => {
    const name = signInName(text);
    const isMethod = name !== undefined && isOwnMethod(name) && clickable.element !== group?.submit?.element;
    return isMethod ? [{ ...choiceOf({ frame, clickable }), type: 'sign_in_method' as const }] : [];
  });
}

/** The choices of a page without fields: an account, another way, or a consent. */
function othersOf(frame: ObservedFrame, found: Found[]): FoundChoice[] {
  const said = contextOf(frame);
  const asks = {
    who: isAbout('account', said),
    whoInHeading: isAbout('account', ...frame.headings),
    consent: isAbout('interstitial', said),
  };
  return found.filter((one) => one.frame === frame).flatMap((one) => otherOf(one, asks) ?? []);
}

function otherOf(
  { frame, clickable, text }: Found,
  asks: { who: boolean; whoInHeading: boolean; consent: boolean },
): FoundChoice | undefined {
  const { inHeader, isButton, role, label, description } = clickable;
  if (inHeader || text === '' || text.length > 120 || isAbout('signUp', text)) return undefined;
  const choice = { ...choiceOf({ frame, clickable }), description: description || undefined };
  const hasAddress = /\S@\S+\.\S/.test(`${label} ${description}`);
  const isItem = isButton || hasAddress || role !== '' || asks.whoInHeading;
  if (isItem && asks.who && !isAbout('cancel', label)) return { ...choice, type: 'account' };
  if (signInName(text) !== undefined || isAbout('passkey', text)) return { ...choice, type: 'sign_in_method' };
  return isButton && asks.consent ? { ...choice, type: 'other' } : undefined;
}

function choiceOf({ frame, clickable }: Pick<Found, 'frame' | 'clickable'>) {
  const { label, text, accessibleName, element, xpath } = clickable;
  return { frame, clickable, label: label || text || accessibleName || `Choice ${element}`, selector: xpath };
}

/** A link around a button, or a label around a radio button, is the same choice. */
function distinct(choices: FoundChoice[]): FoundChoice[] {
  const seen = new Set<string>();
  return choices.filter(({ frame, type, label, description = '', provider = '' }) => {
    const key = JSON.stringify([frame.frameId, type, label, description, provider]);
    return !seen.has(key) && seen.add(key);
  });
}
