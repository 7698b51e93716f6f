import type { Clickable } from '../reading/observation.ts';
import { all, numberOfGroup, numbersOfGroupsAround, remember, styleRead } from './elements.browser.ts';
import { xpathOf } from './selectors.browser.ts';
import {
  boxOf,
  formOf,
  isDisabled,
  isVisible,
  parentsOf,
  placeOf,
  styleOf,
  type AnyElement,
} from './shapes.browser.ts';
import { clean, controlSelector, labelledText, linesOf, nameOf } from './texts.browser.ts';

// The clickable elements of a frame: buttons, links, and other elements that look like them.

const clickableSelector =
  'button, a[href], summary, input[type="submit"], input[type="button"], input[type="image"], input[type="radio"], ' +
  '[role="button"], [role="link"], [role="option"], [role="radio"], [role="menuitem"], [onclick]';

const declared = new Set(all.filter((element) => element.matches(clickableSelector)));
const lookalikes = new Set(styleRead.filter(isLookalike));

export const clickables = all.filter((element) => declared.has(element) || lookalikes.has(element));

export function isButton(element: AnyElement): boolean {
  return (
    lookalikes.has(element) ||
    (/^(BUTTON|INPUT)$/.test(element.tagName) && element.type !== 'radio') ||
    element.getAttribute('role') === 'button'
  );
}

export function clickableOf(element: AnyElement): Clickable {
  const { tagName, type = '', labels, href = '' } = element;
  const name = nameOf(element);
  const text = clean(labelledText(element)) || name;
  const form = formOf(element);
  const [label = text, ...rest] = linesOf(element);
  return {
    element: remember(element),
    tag: tagName.toLowerCase(),
    type,
    role: element.getAttribute('role') ?? '',
    text: text.slice(0, 200),
    label: label.slice(0, 120),
    description: clean(rest.join(' ')).slice(0, 200),
    accessibleName: name.slice(0, 200),
    href: tagName === 'A' ? href : '',
    isButton: isButton(element),
    isSubmit: /^(submit|image)$/.test(type) && form !== null,
    disabled: isDisabled(element),
    visible: isVisible(element) || (type === 'radio' && Array.from(labels ?? []).some(isVisible)),
    box: boxOf(element),
    form: numberOfGroup(form),
    groups: numbersOfGroupsAround(element),
    ...placeOf(element),
    xpath: xpathOf(element),
  };
}

/** Whether an element outside `clickableSelector` has a pointer of its own and a short text, like a button or link. */
function isLookalike(element: Element): boolean {
  const hasShortText = () => {
    const { length } = clean(element.textContent);
    return length > 0 && length < 120;
  };
  return (
    !declared.has(element) &&
    element instanceof HTMLElement &&
    !element.matches(`${controlSelector}, label, option, html, body, input`) &&
    styleOf(element).cursor === 'pointer' &&
    (!element.parentElement || styleOf(element.parentElement).cursor !== 'pointer') &&
    !parentsOf(element).some((ancestor) => declared.has(ancestor)) &&
    hasShortText() &&
    !element.querySelector(clickableSelector)
  );
}
