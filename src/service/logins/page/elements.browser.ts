// The elements of a frame, also those in shadow trees.
import { parentsOf, shadowOf, type AnyElement } from './shapes.browser.ts';
import { controlSelector } from './texts.browser.ts';

declare global {
  /** Elements in which shadow-roots.ts already looked for closed shadow roots, for all looks at a frame. */
  var examinedHosts: WeakSet<Element> | undefined;
}

/** Limits the time of an observation, because pages can be large. */
const mostElements = 30_000;
const mostStyled = 4000;

const notTyped = /^(hidden|submit|button|image|reset|checkbox|radio|file|range|color)$/;

const examined = (globalThis.examinedHosts ??= new WeakSet());
/** Elements that may have a closed shadow root, and in which shadow-roots.ts must still look. */
export const unexamined: Element[] = [];

export const all: AnyElement[] = [];
walk(document);

export const controls = all.filter(
  (element) =>
    element.matches(controlSelector) &&
    !notTyped.test(element.type ?? '') &&
    !element.parentElement?.closest('[contenteditable=""], [contenteditable="true"]'),
);

/** The elements whose styles are read: all, or in a large page those around the controls. */
export const styleRead = all.length <= mostStyled ? all : nearControls();

const numbers = new Map<Element, number>();
/** The elements of the observation. Their indexes are their numbers. */
export const numbered: Element[] = [];

/** Gives an element a number, by which later actions find it. */
export function remember(element: Element): number {
  return numbered.push(element) - 1;
}

/** Notes that shadow-roots.ts has looked for closed shadow roots. */
export function noteExamined(): void {
  for (const host of unexamined) examined.add(host);
}

/** The number of a form or a group of controls; -1 for none. */
export function numberOfGroup(part: Element | null): number {
  if (!part) return -1;
  const number = numbers.get(part) ?? numbers.size;
  numbers.set(part, number);
  return number;
}

/** The numbers of the forms and groups that an element is in, the innermost first. */
export function numbersOfGroupsAround(element: Element): number[] {
  return parentsOf(element).flatMap((parent) => numbers.get(parent) ?? []);
}

function walk(root: Document | ShadowRoot): void {
  for (const element of root.querySelectorAll('*')) {
    if (all.length >= mostElements) return;
    all.push(element);
    const shadow = shadowOf(element);
    if (shadow) walk(shadow);
    else if (mayHaveClosedRoot(element)) unexamined.push(element);
  }
}

/** Scripts can't see closed shadow roots. Custom elements, and visible elements without content, may have one. */
function mayHaveClosedRoot(element: Element): boolean {
  if (examined.has(element)) return false;
  if (element.tagName.includes('-')) return true;
  if (!/^(DIV|SECTION|ARTICLE|MAIN|ASIDE|SPAN|P|HEADER|FOOTER|NAV|BODY|H[1-6]|BLOCKQUOTE)$/.test(element.tagName))
    return false;
  return (
    element.childElementCount === 0 &&
    element.textContent === '' &&
    element.clientHeight > 20 &&
    element.clientWidth > 60
  );
}

function nearControls(): AnyElement[] {
  const parts = [...new Set(controls.map((element) => parentsOf(element)[5] ?? document.body))];
  const near = parts.length > 0 ? all.filter((element) => parts.some((part) => part.contains(element))) : all;
  return near.slice(0, mostStyled);
}
