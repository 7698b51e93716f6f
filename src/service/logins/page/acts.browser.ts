// The facts about an element that the robot needs, and its actions besides mouse and keyboard.
import { isFocused, type AnyElement } from './shapes.browser.ts';

export function click(element: AnyElement): void {
  element.click?.();
}

export function focus(element: AnyElement): void {
  element.focus?.();
}

export function isEnabled(element: AnyElement): boolean {
  return !element.matches(':disabled, [aria-disabled="true"]') && (element.readOnly !== true || isFocused(element));
}

export function isEmpty(element: AnyElement): boolean {
  return element.isConnected && (element.value ?? element.textContent) === '';
}

export function selectAll(element: AnyElement): void {
  if (element.select) element.select();
  else getSelection()?.selectAllChildren(element);
}

/** Uses the setter of the prototype, because frameworks replace the element's own property to notice changes. */
export function setValue(element: AnyElement, value: string): void {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), 'value');
  if (property?.set) property.set.call(element, value);
  else element.textContent = value;
  tellChange(element);
}

/** Sets a select or a date, because typing them depends on the language. Returns whether the element is one of those. */
export function setDirectly(element: AnyElement, value: string): boolean {
  const wanted = value.trim().toLowerCase();
  if (element instanceof HTMLSelectElement) {
    const option = Array.from(element.options).find(
      ({ text, value: own }) => text.trim().toLowerCase() === wanted || own.toLowerCase() === wanted,
    );
    if (option) element.value = option.value;
  } else if (/^(date|month|week|time|datetime-local)$/.test(element.type ?? '')) element.value = value;
  else return false;
  tellChange(element);
  return true;
}

function tellChange(element: AnyElement): void {
  for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
}
