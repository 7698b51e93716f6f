// The texts of a page and of its fields.
import type { Control } from '../reading/observation.ts';
import {
  contains,
  hostOf,
  isElement,
  isRed,
  isText,
  parentsOf,
  rootOf,
  shadowOf,
  styleOf,
  type AnyElement,
} from './shapes.browser.ts';

export const controlSelector =
  'input, textarea, select, [contenteditable=""], [contenteditable="true"], [role="textbox"], [role="searchbox"]';
/** Class names and ids of messages. */
export const spoken = /(^|[-_\s])(error|errors|err|alert|danger|invalid|warning|failure|fehler|erreur)([-_\s]|$)/i;

/** The best label that the page shows for a control, and the source of the label. */
export function labelOf(element: AnyElement, controls: Element[]): Pick<Control, 'label' | 'labelledBy'> {
  const host = hostOf(element);
  const hint = hintOf(element);
  const placeholder = placeholderOf(element);
  const candidates: [by: Control['labelledBy'], text: string][] = [
    ['label', clean(textOfIds(element, 'aria-labelledby'))],
    ['label', clean(Array.from(element.labels ?? [], textOf).join(' '))],
    ['label', clean(element.getAttribute('aria-label'))],
    ['label', host ? clean(host.getAttribute('label') ?? host.getAttribute('aria-label')) || hostLabel(host) : ''],
    ['near', textInside(element, controls)],
    ['placeholder', isSample(placeholder) ? '' : placeholder],
    ['near', textBefore(element, controls)],
    ['placeholder', placeholder],
    ['title', clean(element.getAttribute('title'))],
  ];
  const found = candidates.find(([by, text]) => text !== '' && text.length <= 160 && !(by === 'near' && text === hint));
  return { labelledBy: found?.[0] ?? '', label: found?.[1] ?? '' };
}

export function placeholderOf(element: Element): string {
  return clean(element.getAttribute('placeholder') ?? hostAttribute(element, 'placeholder'));
}

function hostLabel(host: Element): string {
  const label =
    host.closest('label') ?? (host.id ? rootOf(host).querySelector(`label[for="${CSS.escape(host.id)}"]`) : null);
  return label ? clean(textOf(label)) : '';
}

/** Whether a placeholder is an example of a value instead of a label. */
function isSample(placeholder: string): boolean {
  return /@|\d{2}|…|\.\.\.|^\W*$/.test(placeholder);
}

/** The largest part of the page around a control that contains no other control. */
function partOf(element: Element, controls: Element[]): Element {
  let part = element;
  for (const ancestor of parentsOf(element)) {
    if (ancestor.tagName === 'FORM' || ancestor.tagName === 'BODY') break;
    if (controls.some((other) => other !== element && contains(ancestor, other))) break;
    part = ancestor;
  }
  return part;
}

/** The text in the control's part of the page. Text before the control wins over text after it. */
function textInside(element: Element, controls: Element[]): string {
  const others =
    'a, button, [role="button"], [role="alert"], select, textarea, script, style, [onclick], h1, h2, h3, h4, [role="heading"]';
  const own = textNodesOf(partOf(element, controls)).filter(({ parentElement: parent }) => {
    return parent && !parent.closest(others) && !isMessage(parent) && !isPointer(parent);
  });
  const isBefore = (node: Text) => (node.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  for (const nodes of [own.filter(isBefore), own.filter((node) => !isBefore(node))]) {
    const text = clean(nodes.map(({ data }) => data).join(' '));
    if (text !== '' && text.length <= 60) return text;
  }
  return '';
}

/** The text directly before the control's part of the page. */
function textBefore(element: Element, controls: Element[]): string {
  const others = `${controlSelector}, button`;
  for (let node = partOf(element, controls).previousSibling; node; node = node.previousSibling) {
    if (
      isElement(node) &&
      (node.matches(`${others}, a, h1, h2, h3, h4, [role="heading"]`) || node.querySelector(others))
    )
      break;
    const text = isElement(node) && isMessage(node) ? '' : textOf(node);
    if (text !== '') return text.length <= 60 ? text : '';
  }
  return '';
}

function isMessage(element: Element): boolean {
  return element.matches('[role="alert"], [aria-live]') || isRed(element) || spoken.test(element.className);
}

function textNodesOf(part: Element): Text[] {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) found.push(walker.currentNode as Text);
  return found.filter(({ data }) => data.trim() !== '');
}

function isPointer(element: Element): boolean {
  return styleOf(element).cursor === 'pointer' && !element.closest('label');
}

export function hintOf(element: Element): string {
  const described = clean(`${textOfIds(element, 'aria-describedby')} ${textOfIds(element, 'aria-errormessage')}`);
  return (described || clean(element.getAttribute('title'))).slice(0, 300);
}

/** The elements whose ids an attribute lists. */
export function elementsOfIds(element: Element, attribute: string): Element[] {
  const ids = (element.getAttribute(attribute) ?? '').split(/\s+/).filter(Boolean);
  return ids.map((id) => rootOf(element).getElementById(id)).filter((found) => found !== null);
}

function textOfIds(element: Element, attribute: string): string {
  return elementsOfIds(element, attribute).map(textOf).join(' ');
}

/** An attribute of the element's shadow host. Some shadow trees show their host's attributes. */
export function hostAttribute(element: Element, name: string): string {
  return hostOf(element)?.getAttribute(name) ?? '';
}

export function clean(text: string | null | undefined): string {
  return (text ?? '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/\s*[*:：＊]+\s*$/u, '')
    .trim();
}

/** The text of a node with that of its links and the alt texts of its images, without its controls and buttons. */
function textOf(node: Node): string {
  if (isText(node)) return clean(node.data);
  if (!isElement(node)) return '';
  if (node.tagName === 'IMG') return clean(node.alt);
  if (node.matches('script, style, template, noscript, button, select, textarea, [role="button"]')) return '';
  return clean(Array.from((shadowOf(node) ?? node).childNodes, textOf).join(' '));
}

export function innerTextOf(element: AnyElement): string {
  return element.innerText ?? element.textContent ?? '';
}

export function linesOf(element: AnyElement): string[] {
  const own =
    element.type === 'radio' ? Array.from(element.labels ?? [], innerTextOf).join('\n') : innerTextOf(element);
  return own.split('\n').map(clean).filter(Boolean);
}

export function labelledText(element: AnyElement): string {
  if (element.tagName === 'INPUT' && element.type !== 'radio') return element.value ?? '';
  return linesOf(element).join(' ');
}

export function nameOf(element: Element): string {
  const images = Array.from(
    element.querySelectorAll('img[alt], svg title, [aria-label]'),
    (image) => image.getAttribute('alt') ?? image.getAttribute('aria-label') ?? image.textContent,
  );
  const names = [
    textOfIds(element, 'aria-labelledby'),
    element.getAttribute('aria-label'),
    element.getAttribute('title'),
    images.join(' '),
    element.getAttribute('alt'),
  ];
  return names.map(clean).find((name) => name !== '') ?? '';
}
