import type { Message } from '../reading/observation.ts';
import { all, controls, styleRead } from './elements.browser.ts';
import { contains, isRed, isVisible, type AnyElement } from './shapes.browser.ts';
import { clean, controlSelector, elementsOfIds, innerTextOf, spoken } from './texts.browser.ts';

/** The site's messages about the submitted values, the most certain ones first. */
export function messages(): Message[] {
  const invalid = controls.filter((element) => element.getAttribute('aria-invalid') === 'true');
  const kinds: [kind: Message['kind'], found: AnyElement[]][] = [
    [
      'alert',
      all.filter((element) => element.matches('[role="alert"], [role="alertdialog"], [aria-live="assertive"]')),
    ],
    [
      'tied',
      invalid.flatMap((element) =>
        ['aria-errormessage', 'aria-describedby'].flatMap((name) => elementsOfIds(element, name)),
      ),
    ],
    ['class', all.filter(isClassed)],
    ['status', all.filter((element) => element.matches('[aria-live="polite"], [role="status"], output'))],
    ['colour', styleRead.filter(isRed)],
  ];
  return kinds.flatMap(([kind, found]) =>
    found
      .filter((element) => isVisible(element) && !controls.some((control) => contains(element, control)))
      .map((element) => ({ kind, text: clean(innerTextOf(element)).slice(0, 500) }))
      .filter(({ text }) => text.length > 2),
  );
}

/** Whether the class or id of an element says that it shows an error. */
function isClassed(element: Element): boolean {
  const { className, id } = element;
  if (element.matches(`${controlSelector}, form, body, html, label, fieldset, script, style`)) return false;
  if (/success|info|cookie|hint/i.test(className)) return false;
  // The class of an SVG element isn't a string.
  return spoken.test(`${typeof className === 'string' ? className : ''} ${id}`.replace(/([a-z])([A-Z])/g, '$1-$2'));
}
