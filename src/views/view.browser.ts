// Functions for the scripts of several views.

const status = document.querySelector<HTMLElement>('[role=status]')!;

/** Shows a text in the view's status line. Doesn't set the same text again, so that screen readers don't repeat it. */
export function say(text: string, tone: 'good' | 'warn' | '' = ''): void {
  status.dataset['tone'] = tone;
  if (status.textContent !== text) status.textContent = text;
}

/** Sends a HEAD request. Resolves to the answer, or to `undefined` if the service doesn't answer within 5 s. */
export function ask(url: string): Promise<Response | undefined> {
  return fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(5000) }).catch(() => undefined);
}

/** Creates an element with properties and children. */
export function build<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
