/** The names of the isolated world and of the function in which the script runs. The page's own scripts see neither. */
export const worldName = 'playwright-pool telemetry';
export const bindingName = 'tellInteraction';

const types: ReadonlySet<string> = new Set(['interaction_click', 'interaction_key', 'interaction_scroll_settled']);

type Interaction = { type: string; data: Record<string, unknown> };

/** Turns a message of the script into a telemetry event. `undefined` if the message isn't from the script. */
export function interactionEvent({ name, payload }: { name: string; payload: string }): Interaction | undefined {
  if (name !== bindingName) return undefined;
  try {
    const { type, data } = JSON.parse(payload) as Interaction;
    return types.has(type) && data instanceof Object ? { type, data } : undefined;
  } catch {
    // A client of the session can add a function of this name, and call it with any text.
    return undefined;
  }
}

/**
 * A script for a page. It reports clicks, keys and scrolls of a person or a client to the service, but no text of
 * fields, and no keys of password, card and one-time-code fields. A scroll counts as settled 200 ms after its last event.
 */
export const interactionScript = `(() => {
  const tell = (type, data) => globalThis.${bindingName}?.(JSON.stringify({ type, data }));
  const selectorOf = (element) => {
    const parts = [];
    for (let at = element; at instanceof Element && parts.length < 4; at = at.parentElement) {
      if (at.id) { parts.unshift('#' + CSS.escape(at.id)); break; }
      const tag = at.localName;
      const same = at.parentElement ? [...at.parentElement.children].filter((other) => other.localName === tag) : [];
      parts.unshift(same.length > 1 ? tag + ':nth-of-type(' + (same.indexOf(at) + 1) + ')' : tag);
    }
    return parts.join(' > ');
  };
  const isField = (element) => element.matches('input, textarea, select, [contenteditable]');
  const isSecret = (element) => element.matches('input[type=password], [autocomplete^=cc-], [autocomplete=one-time-code], [autocomplete*=password]');
  const targetOf = (event) => { const [target] = event.composedPath(); return target instanceof Element ? target : undefined; };
  addEventListener('click', (event) => {
    const target = targetOf(event);
    if (!event.isTrusted || !target) return;
    const text = isField(target) ? undefined : (target.textContent ?? '').trim().slice(0, 100);
    tell('interaction_click', { x: event.clientX, y: event.clientY, selector: selectorOf(target), tag: target.localName, text });
  }, true);
  addEventListener('keydown', (event) => {
    const target = targetOf(event);
    if (!event.isTrusted || !target || isSecret(target)) return;
    tell('interaction_key', { key: event.key, selector: selectorOf(target), tag: target.localName });
  }, true);
  const scrolls = new Map();
  addEventListener('scroll', (event) => {
    const element = event.target instanceof Element ? event.target : document.scrollingElement;
    if (!event.isTrusted || !element) return;
    const known = scrolls.get(element) ?? { x: element.pwpX ?? 0, y: element.pwpY ?? 0 };
    clearTimeout(known.timer);
    known.timer = setTimeout(() => {
      scrolls.delete(element);
      const [to_x, to_y] = [element.scrollLeft, element.scrollTop];
      tell('interaction_scroll_settled', { from_x: known.x, from_y: known.y, to_x, to_y, target_selector: selectorOf(element) });
      [element.pwpX, element.pwpY] = [to_x, to_y];
    }, 200);
    scrolls.set(element, known);
  }, true);
})()`;
