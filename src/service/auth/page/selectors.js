// How elements can be found again. Runs before observe.js.
globalThis.selectors = (() => {
  return { cssOf, xpathOf };

  /** From the element's own document or shadow root. */
  function cssOf(element) {
    const root = element.getRootNode();
    const unique = (selector) => root.querySelectorAll(selector).length === 1;
    if (element.id && unique(`#${CSS.escape(element.id)}`)) return `#${CSS.escape(element.id)}`;
    const tag = element.tagName.toLowerCase();
    const name = element.getAttribute('name');
    if (name && unique(`${tag}[name="${CSS.escape(name)}"]`)) return `${tag}[name="${CSS.escape(name)}"]`;
    const steps = [];
    for (let node = element; node instanceof Element; node = node.parentElement) {
      if (node !== element && node.id && unique(`#${CSS.escape(node.id)}`)) {
        steps.unshift(`#${CSS.escape(node.id)}`);
        break;
      }
      steps.unshift(`${node.tagName.toLowerCase()}${position(node, ':nth-of-type(', ')')}`);
    }
    return steps.join(' > ');
  }

  function xpathOf(element) {
    if (element.id && !/["']/.test(element.id)) return `//*[@id="${element.id}"]`;
    const steps = [];
    for (let node = element; node instanceof Element; node = node.parentElement)
      steps.unshift(`/${node.tagName.toLowerCase()}${position(node, '[', ']')}`);
    return steps.join('');
  }

  function position(node, before, after) {
    const siblings = Array.from(node.parentNode?.children ?? []).filter(({ tagName }) => tagName === node.tagName);
    return siblings.length > 1 ? `${before}${siblings.indexOf(node) + 1}${after}` : '';
  }
})();
