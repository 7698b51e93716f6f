// Runs in an isolated world in each frame of a login page, again for each look at the page. The world's variable
// `login` has the exports of the latest look.
import type { Control, Observation } from '../reading/observation.ts';
import { clickableOf, clickables, isButton } from './clickables.browser.ts';
import { all, controls, numberOfGroup, remember, unexamined } from './elements.browser.ts';
import { messages } from './messages.browser.ts';
import { cssOf } from './selectors.browser.ts';
import {
  boxOf,
  contains,
  formOf,
  isDisabled,
  isFocused,
  isHiddenFromAssistants,
  isReached,
  isShown,
  isTypedInto,
  isVisible,
  overlaps,
  parentsOf,
  placeOf,
  shadowOf,
  styleOf,
  type AnyElement,
} from './shapes.browser.ts';
import { clean, hintOf, hostAttribute, innerTextOf, labelOf, placeholderOf } from './texts.browser.ts';

export * from './acts.browser.ts';
export { noteExamined, numbered } from './elements.browser.ts';
export { isReached, rememberRoots } from './shapes.browser.ts';

const mostClickables = 250;
const longestText = 4000;
const longestName = 1000;

const buttons = clickables.filter(isButton);
/** The form or group of each control. */
const groups = new Map(controls.map((element) => [element, formOf(element) ?? groupOf(element)]));

/**
 * Reads the facts that the frame shows. The code in `reading` interprets them. Returns `undefined` while the document
 * is being replaced.
 */
export function observe(): Observation | undefined {
  if (!document.documentElement) return undefined;
  for (const group of groups.values()) numberOfGroup(group);
  return {
    url: location.href,
    origin: window.origin,
    title: document.title.slice(0, longestName),
    ready: document.readyState,
    headings: all
      .filter((element) => /^H[1-3]$|^LEGEND$/.test(element.tagName) || element.getAttribute('role') === 'heading')
      .filter(isVisible)
      .slice(0, 10)
      .map(({ textContent }) => clean(textContent).slice(0, longestName)),
    lines: visibleLines(),
    width: innerWidth,
    height: innerHeight,
    hasUnexaminedHosts: unexamined.length > 0,
    controls: controls.map(controlOf),
    clickables: foremostClickables().map(clickableOf),
    messages: messages(),
    hasCaptcha: all.some(isCaptcha),
  };
}

function controlOf(element: AnyElement): Control {
  const { tagName, type = 'text', name = '', id, maxLength = 0, readOnly = false, required = false } = element;
  const form = formOf(element);
  const group = groups.get(element)!;
  return {
    element: remember(element),
    tag: tagName.toLowerCase(),
    type: tagName === 'SELECT' ? 'select' : type,
    name: (name || element.getAttribute('formcontrolname') || hostAttribute(element, 'name')).slice(0, longestName),
    id: (id || hostAttribute(element, 'id')).slice(0, longestName),
    autocomplete: (element.getAttribute('autocomplete') ?? hostAttribute(element, 'autocomplete')).toLowerCase(),
    inputMode: element.getAttribute('inputmode') ?? '',
    maxLength: Math.max(0, maxLength),
    pattern: element.getAttribute('pattern') ?? '',
    placeholder: placeholderOf(element).slice(0, longestName),
    ...labelOf(element, controls),
    hint: hintOf(element),
    required: required || element.getAttribute('aria-required') === 'true',
    disabled: isDisabled(element) || (readOnly && !isTypedInto(element)),
    readOnly,
    masked: type === 'password' || !['', 'none'].includes(styleOf(element).getPropertyValue('-webkit-text-security')),
    focused: isFocused(element),
    visible: isVisible(element) || (isTypedInto(element) && element.isConnected && isShown(element)),
    covered: isReached(element) === false,
    forAssistants: !isHiddenFromAssistants(element),
    box: boxOf(element),
    form: numberOfGroup(form),
    group: numberOfGroup(group),
    ...placeOf(element),
    formWords: form ? wordsOf(form).slice(0, longestName) : '',
    groupHeading: headingOf(group),
    options: tagName === 'SELECT' ? Array.from(element.options ?? [], ({ text }) => clean(text)).slice(0, 50) : [],
    selector: cssOf(element),
  };
}

function wordsOf(form: Element): string {
  const [name, ...others] = ['name', 'action', 'aria-label', 'role'].map((attribute) => form.getAttribute(attribute));
  return [form.id, name, form.className, ...others].join(' ');
}

/** The clickable elements near controls, and as many of the others as the limit allows, in document order. */
function foremostClickables(): AnyElement[] {
  if (clickables.length <= mostClickables) return clickables;
  const parts = new Set(groups.values());
  const beside = new Set(clickables.filter((element) => parentsOf(element).some((parent) => parts.has(parent))));
  const others = clickables
    .filter((element) => !beside.has(element))
    .slice(0, Math.max(0, mostClickables - beside.size));
  const chosen = new Set([...beside, ...others]);
  return clickables.filter((element) => chosen.has(element)).slice(-mostClickables);
}

/** The smallest part of the page around a control outside of forms that has a button of its own. */
function groupOf(element: Element): Element {
  const box = element.getBoundingClientRect();
  const isOwn = (button: Element) => isVisible(button) && !overlaps(button.getBoundingClientRect(), box);
  const hasOwn = (part: Element) => buttons.some((button) => contains(part, button) && isOwn(button));
  return parentsOf(element).find(hasOwn) ?? document.documentElement;
}

function headingOf(group: Element): string {
  const heading = all.find(
    (element) => /^(H[1-6]|LEGEND)$/.test(element.tagName) && contains(group, element) && isVisible(element),
  );
  return clean(heading?.textContent).slice(0, 120);
}

function isCaptcha(element: AnyElement): boolean {
  return (
    element.tagName === 'IFRAME' &&
    /captcha|challenges\.|turnstile|arkoselabs/i.test(element.src ?? '') &&
    isVisible(element) &&
    element.clientHeight > 40
  );
}

function visibleLines(): string[] {
  const roots = all.flatMap((element) => shadowOf(element) ?? []);
  const parts = [document.body ?? document.documentElement, ...roots.flatMap(({ children }) => Array.from(children))];
  return parts
    .flatMap((part) => innerTextOf(part).slice(0, longestText).split('\n').map(clean))
    .filter(Boolean)
    .slice(0, 200);
}
