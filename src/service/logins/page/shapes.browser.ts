// The positions of the elements of a page, and their visibility for a person.
import type { Box, Place } from '../reading/observation.ts';

/** An element of any kind, with the properties that only some kinds have. */
export type AnyElement = Element &
  Partial<Omit<HTMLInputElement, keyof Element> & Pick<HTMLSelectElement, 'options'> & Pick<HTMLAnchorElement, 'href'>>;

declare global {
  /** Closed shadow roots by their hosts, for all looks at a frame. */
  var closedRoots: WeakMap<Element, ShadowRoot> | undefined;
}

const closedRoots = (globalThis.closedRoots ??= new WeakMap());
const styles = new Map<Element, CSSStyleDeclaration>();
const clips = new Map<Element, DOMRect | 'all' | undefined>();

export function styleOf(element: Element): CSSStyleDeclaration {
  const style = styles.get(element) ?? getComputedStyle(element);
  styles.set(element, style);
  return style;
}

export function isVisible(element: Element): boolean {
  if (!element.isConnected) return false;
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false }))
    return false;
  return isShown(element);
}

/** Whether a part of the element can be scrolled into view and isn't clipped by another element. */
export function isShown(element: Element): boolean {
  const box = element.getBoundingClientRect();
  if (box.width < 3 || box.height < 3) return false;
  if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return false;
  const { clientWidth, scrollWidth, scrollHeight, clientHeight } = document.documentElement;
  if (
    box.left + scrollX >= Math.max(clientWidth, scrollWidth) ||
    box.top + scrollY >= Math.max(clientHeight, scrollHeight)
  )
    return false;
  return !parentsOf(element).some((ancestor) => cutsOff(ancestor, box)) && !isClipped(element);
}

function cutsOff(ancestor: Element, box: DOMRect): boolean {
  if (!clips.has(ancestor)) {
    const { overflowX, overflowY } = styleOf(ancestor);
    const outer =
      (overflowX === 'hidden' || overflowY === 'hidden' || overflowX === 'clip') &&
      !/^(HTML|BODY)$/.test(ancestor.tagName);
    clips.set(ancestor, isClipped(ancestor) ? 'all' : outer ? ancestor.getBoundingClientRect() : undefined);
  }
  const clip = clips.get(ancestor);
  return clip === 'all' || (clip !== undefined && !overlaps(box, clip, 2));
}

function isClipped(element: Element): boolean {
  const { clip, clipPath, position } = styleOf(element);
  return (
    (/^absolute|^fixed/.test(position) && /^rect\((0|1)px,? (0|1)px,? (0|1)px,? (0|1)px\)$/.test(clip)) ||
    /^inset\((50|100)%\)$/.test(clipPath)
  );
}

/** Whether a click on its middle reaches it, its content or its label. `undefined` if the middle is out of view. */
export function isReached(element: AnyElement): boolean | undefined {
  const { x, y, width, height } = element.getBoundingClientRect();
  const hit = rootOf(element).elementFromPoint(x + width / 2, y + height / 2);
  return hit
    ? element.contains(hit) || Array.from(element.labels ?? []).some((label) => label.contains(hit))
    : undefined;
}

/** Whether it is an invisible input whose text another element shows, such as the boxes of a code. */
export function isTypedInto(element: AnyElement): boolean {
  return (
    /one-time-code/.test(element.getAttribute('autocomplete') ?? '') ||
    (isFocused(element) && (element.tabIndex ?? -1) >= 0)
  );
}

export function isFocused(element: Element): boolean {
  return rootOf(element).activeElement === element;
}

export function isHiddenFromAssistants(element: AnyElement): boolean {
  return (element.tabIndex ?? 0) < 0 && enclosing(element, '[aria-hidden="true"]') !== null;
}

export function isDisabled(element: Element): boolean {
  return element.matches(':disabled, [aria-disabled="true"]') || enclosing(element, '[inert]') !== null;
}

export function isRed(element: Element): boolean {
  if (!(element instanceof HTMLElement) || element.matches('a, button') || !hasOwnText(element)) return false;
  const [red = 0, green = 0, blue = 0] = (styleOf(element).color.match(/[\d.]+/g) ?? []).map(Number);
  return red > 130 && green < 100 && blue < 100;
}

function hasOwnText(element: Element): boolean {
  return Array.from(element.childNodes).some((node) => isText(node) && node.data.trim().length > 5);
}

export function isElement(node: Node): node is AnyElement {
  return node.nodeType === Node.ELEMENT_NODE;
}

export function isText(node: Node): node is Text {
  return node.nodeType === Node.TEXT_NODE;
}

/** The document or shadow root that contains an element. */
export function rootOf(element: Element): Document | ShadowRoot {
  return element.getRootNode() as Document | ShadowRoot;
}

/** The host of the shadow tree that contains an element. */
export function hostOf(element: Element): Element | undefined {
  const root = rootOf(element);
  return root instanceof ShadowRoot ? root.host : undefined;
}

/** Makes closed shadow roots known to later looks. */
export function rememberRoots(...roots: ShadowRoot[]): void {
  for (const root of roots) closedRoots.set(root.host, root);
}

/** The shadow root of an element, also a closed one. */
export function shadowOf(element: Element): ShadowRoot | undefined {
  return element.shadowRoot ?? closedRoots.get(element);
}

function parentOf(element: Element): Element | undefined {
  return element.assignedSlot ?? element.parentElement ?? hostOf(element);
}

export function parentsOf(element: Element): Element[] {
  const found = [];
  for (let parent = parentOf(element); parent; parent = parentOf(parent)) found.push(parent);
  return found;
}

export function contains(ancestor: Element, element: Element): boolean {
  return ancestor.contains(element) || parentsOf(element).includes(ancestor);
}

/** Like `closest`, but also looks outside of the element's shadow tree. */
export function enclosing(element: Element, selector: string): Element | null {
  return [element, ...parentsOf(element)].find((parent) => parent.matches(selector)) ?? null;
}

export function formOf(element: AnyElement): Element | null {
  return element.form ?? enclosing(element, 'form');
}

export function overlaps(a: DOMRect, b: DOMRect, by = 0): boolean {
  return a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by;
}

export function boxOf(element: Element): Box {
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x, y, width, height };
}

export function placeOf(element: Element): Place {
  const isIn = (selector: string) => enclosing(element, selector) !== null;
  return {
    inSearch: isIn('search, [role="search"], form[class*="search" i], form[id*="search" i], form[action*="search" i]'),
    inFooter: isIn('footer, [role="contentinfo"]'),
    inHeader: isIn('header, nav, [role="banner"], [role="navigation"]'),
    inDialog: isIn('dialog, [role="dialog"], [aria-modal="true"]'),
  };
}
