// Selectors that find elements again.
import { rootOf } from './shapes.browser.ts';

/** A CSS selector, relative to the element's document or shadow root. */
export function cssOf(element: Element): string {
  const root = rootOf(element);
  const isUnique = (selector: string) => root.querySelectorAll(selector).length === 1;
  if (element.id && isUnique(`#${CSS.escape(element.id)}`)) return `#${CSS.escape(element.id)}`;
  const tag = element.tagName.toLowerCase();
  const name = element.getAttribute('name');
  if (name && isUnique(`${tag}[name="${CSS.escape(name)}"]`)) return `${tag}[name="${CSS.escape(name)}"]`;
  const steps = [];
  for (let node: Element | null = element; node; node = node.parentElement) {
    if (node !== element && node.id && isUnique(`#${CSS.escape(node.id)}`)) {
      steps.unshift(`#${CSS.escape(node.id)}`);
      break;
    }
    steps.unshift(`${node.tagName.toLowerCase()}${position(node, ':nth-of-type(', ')')}`);
  }
  return steps.join(' > ');
}

export function xpathOf(element: Element): string {
  if (element.id && !/["']/.test(element.id)) return `//*[@id="${element.id}"]`;
  const steps = [];
  for (let node: Element | null = element; node; node = node.parentElement) {
    steps.unshift(`/${node.tagName.toLowerCase()}${position(node, '[', ']')}`);
  }
  return steps.join('');
}

function position(element: Element, before: string, after: string): string {
  const siblings = Array.from(element.parentNode?.children ?? []).filter(({ tagName }) => tagName === element.tagName);
  return siblings.length > 1 ? `${before}${siblings.indexOf(element) + 1}${after}` : '';
}
