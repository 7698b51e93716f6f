import type { FieldType, LoginField, MfaType } from './login-form.ts';
import type { Control, ObservedFrame } from './observation.ts';
import { isAbout } from './words.ts';

/**
 * The purpose of a control, by its own attributes and label. `new-password` is for choosing a password, `trap` must
 * stay empty because only robots fill it.
 */
export type Role = 'identifier' | 'password' | 'new-password' | 'code' | 'search' | 'newsletter' | 'trap' | 'text';

/** A control with its role. A code with a box for each character has several controls. */
export type Entry = { frame: ObservedFrame; control: Control; boxes: Control[]; role: Role };

/** The controls of a frame that a person would see, in their order. */
export function entriesOf(frame: ObservedFrame): Entry[] {
  if (frame.width < 60 || frame.height < 20) return [];
  const visible = frame.controls.filter(
    ({ visible: isVisible, forAssistants, readOnly, focused }) => isVisible && forAssistants && (!readOnly || focused),
  );
  return joinBoxes(visible).map((boxes) => {
    const control = boxes[0]!;
    return { frame, control, boxes, role: boxes.length > 1 ? 'code' : roleOf(control) };
  });
}

/** Describes an entry as a field for a person. `context` is the page's text around it. */
export function fieldOf({ frame, control, boxes, role }: Entry, isIdentifier: boolean, context: string): LoginField {
  const type = isIdentifier ? 'identifier' : typeOf(role, control, context);
  const ref = refOf(type, control);
  const label = control.label || control.placeholder || (type === 'text' && nameOf(control)) || fallbackLabels[type];
  const hint = hintOf(control, label);
  return {
    id: ref,
    ref,
    type,
    input_type: inputTypeOf(type, control),
    label: boxes.length > 1 ? labelOfBoxes(boxes, frame) || label : label,
    placeholder: (boxes.length === 1 && control.placeholder) || undefined,
    hint: hint || undefined,
    selector: control.selector,
    required: control.required || type !== 'text',
    linked_mfa_type: type === 'code' || type === 'totp_code' ? methodOf(type, control, context) : undefined,
  };
}

function roleOf(control: Control): Role {
  const { type, label, placeholder, name, id, masked, autocomplete, inputMode, maxLength, labelledBy, hint } = control;
  const tokens = autocomplete.split(/\s+/);
  const texts = [label, placeholder];
  const names = [name, id];
  if (isAbout('empty', ...texts, hint, ...names)) return 'trap';
  if (tokens.includes('one-time-code')) return 'code';
  if (tokens.includes('current-password')) return 'password';
  if (masked && (tokens.includes('new-password') || isAbout('newPassword', ...texts, ...names))) return 'new-password';
  if (masked)
    return isAbout('code', ...texts, ...names) && !isAbout('password', ...texts, ...names) ? 'code' : 'password';
  if (tokens.some((token) => identifierTokens.has(token))) return 'identifier';
  if (type === 'search' || control.inSearch) return 'search';
  if (type === 'select') return 'text';
  const sayings = [texts, labelledBy === 'label' ? [] : names, names];
  for (const said of sayings) {
    if (isAbout('newsletter', ...said)) return isAbout('code', ...said) ? 'text' : 'newsletter';
    if (isAbout('search', ...said)) return 'search';
    // A field "e-mail or code" takes an identifier, a field "e-mail code" takes a code.
    if (isAbout('code', ...said) && type !== 'email') return 'code';
    if (isAbout('identifier', ...said)) return 'identifier';
    if (isAbout('password', ...said)) return 'password';
  }
  if (type === 'email') return 'identifier';
  const isNumeric =
    inputMode === 'numeric' || ['number', 'tel'].includes(type) || /^\^?(\[0-9\]|\\d)/.test(control.pattern);
  if (isNumeric && maxLength >= 4 && maxLength <= 8) return 'code';
  return type === 'tel' ? 'identifier' : 'text';
}

const identifierTokens = new Set(['username', 'email', 'tel', 'tel-national', 'webauthn']);

function typeOf(role: Role, { label, placeholder, hint }: Control, context: string): FieldType {
  if (role === 'password' || role === 'new-password') return 'password';
  if (role !== 'code') return 'text';
  const own = [label, placeholder, hint].join(' ');
  if (isAbout('authenticator', own)) return 'totp_code';
  if (isAbout(['sms', 'email'], own)) return 'code';
  return isAbout('authenticator', context) && !masksTarget(context) ? 'totp_code' : 'code';
}

function methodOf(type: FieldType, { label, hint, placeholder }: Control, context: string): MfaType | undefined {
  if (type === 'totp_code') return 'totp';
  for (const text of [[label, hint, placeholder].join(' '), context]) {
    if (maskedAddress.test(text)) return 'email';
    if (isAbout('sms', text) || maskedPhone.test(text)) return 'sms';
    if (isAbout('email', text)) return 'email';
    if (isAbout('call', text)) return 'call';
  }
  return undefined;
}

/**
 * A masked e-mail address. The expression looks back from the `@`, because looking forward from each dot of a row of
 * thousands would take seconds.
 */
const maskedAddress = /@(?<=[•*x×]{2}[^\s@]*@|\S[•*][^\s@]*@)/u;

/** A masked phone number. */
export const maskedPhone = /[•*×]{2}[\s()-]*\d{2}(?![^\s@]*@)|\b[xX]{2,}[\s-]*\d{2,4}\b|\d[\s()-]*[•*×]{2}/u;

function masksTarget(context: string): boolean {
  return maskedPhone.test(context) || /@(?<=\S[•*][^\s@]*@)/u.test(context);
}

function refOf(type: FieldType, control: Control): string {
  if (type === 'password') return 'password';
  if (type === 'identifier') {
    const said = [control.label, control.placeholder, control.name, control.id];
    const tokens = control.autocomplete.split(/\s+/);
    const asksMail = control.type === 'email' || tokens.includes('email') || isAbout('email', ...said);
    const asksPhone = control.type === 'tel' || tokens.includes('tel') || isAbout('phone', ...said);
    return asksMail && !asksPhone ? 'email' : asksPhone && !asksMail ? 'phone' : 'username';
  }
  if (type !== 'text') return 'code';
  return slug(control.name) || slug(control.id) || slug(control.label) || 'text';
}

/** The ASCII letters and digits of a text in lower case, with underscores between words. May be empty. */
export function slug(text: string): string {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  return (words ?? []).join('_').slice(0, 40);
}

function inputTypeOf(type: FieldType, { type: own, masked }: Control): LoginField['input_type'] {
  if (type === 'totp_code') return 'totp';
  if (type === 'code') return 'code';
  if (masked) return 'password';
  return own === 'email' || own === 'tel' || own === 'number' || own === 'url' ? own : 'text';
}

function hintOf({ hint, options }: Control, label: string): string {
  if (options.length > 0) return `One of: ${options.join(', ')}`.slice(0, 300);
  return hint === label ? '' : hint;
}

/** The common label of several boxes. The labels of the single boxes often only number them, such as "Digit 1 of 6". */
function labelOfBoxes([first, ...others]: Control[], { headings }: ObservedFrame): string {
  const { label, groupHeading } = first!;
  const isNumbered = others.some((other) => other.label !== '' && other.label !== label);
  return label !== '' && !isNumbered ? label : (headings.find((heading) => isAbout('code', heading)) ?? groupHeading);
}

function nameOf({ name, id }: Control): string {
  const words = (name || id)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_.[\]-]+/g, ' ')
    .trim();
  // Skips generated names, which mean nothing to a person.
  return /^[\p{L} ]{3,30}$/u.test(words) ? words.charAt(0).toUpperCase() + words.slice(1).toLowerCase() : '';
}

const fallbackLabels = {
  identifier: 'Username',
  password: 'Password',
  code: 'Code',
  totp_code: 'Code',
  text: 'Text',
} satisfies Record<FieldType, string>;

/** Joins boxes in a row for the characters of one code. */
function joinBoxes(controls: Control[]): Control[][] {
  const rows: Control[][] = [];
  for (const control of controls) {
    const row = rows.at(-1);
    if (row && isBox(control) && isBox(row[0]!) && isBeside(row.at(-1)!, control)) row.push(control);
    else rows.push([control]);
  }
  // Three boxes in a row are usually a date.
  return rows.flatMap((row) => (row.length < 4 ? row.map((control) => [control]) : [row]));
}

function isBox({ maxLength, box, type, tag }: Control): boolean {
  return (
    tag !== 'select' &&
    ['text', 'tel', 'number', 'password'].includes(type) &&
    box.width <= 110 &&
    (maxLength === 1 || box.width <= 70)
  );
}

function isBeside(a: Control, b: Control): boolean {
  return a.group === b.group && Math.abs(a.box.y - b.box.y) < 6 && Math.abs(a.box.width - b.box.width) < 6;
}
