// What a page says, and about which of its fields. Runs before observe.js.
globalThis.texts = (() => {
  const controlSelector = 'input, textarea, select, [contenteditable=""], [contenteditable="true"], [role="textbox"], [role="searchbox"]';
  const spoken = /(^|[-_\s])(error|errors|err|alert|danger|invalid|warning|failure|fehler|erreur)([-_\s]|$)/i;
  const { isRed, parentsOf, contains, styleOf } = globalThis.shapes;

  return { controlSelector, spoken, clean, labelOf, hintOf, hostAttribute, linesOf, labelledText, nameOf, innerTextOf };

  /** The best name that the page shows for a control, and how it is tied to it. */
  function labelOf(element, controls) {
    const root = element.getRootNode();
    const host = root instanceof ShadowRoot ? root.host : undefined;
    const hint = hintOf(element);
    const placeholder = clean(element.getAttribute('placeholder') ?? hostAttribute(element, 'placeholder'));
    const found = [
      ['label', clean(textOfIds(element, 'aria-labelledby'))],
      ['label', clean(Array.from(element.labels ?? [], textOf).join(' '))],
      ['label', clean(element.getAttribute('aria-label'))],
      ['label', host ? clean(host.getAttribute('label') ?? host.getAttribute('aria-label')) || hostLabel(host) : ''],
      ['near', textInside(element, controls)],
      ['placeholder', isSample(placeholder) ? '' : placeholder],
      ['near', textBefore(element, controls)],
      ['placeholder', placeholder],
      ['title', clean(element.getAttribute('title'))],
    ].find(([by, text]) => text !== '' && text.length <= 160 && !(by === 'near' && text === hint));
    return { labelledBy: found?.[0] ?? '', label: found?.[1] ?? '' };
  }

  function hostLabel(host) {
    const root = host.getRootNode();
    const label = host.closest('label') ?? (host.id ? root.querySelector(`label[for="${CSS.escape(host.id)}"]`) : null);
    return label ? clean(textOf(label)) : '';
  }

  /** Shows what a value looks like rather than what it is. */
  function isSample(placeholder) {
    return /@|\d{2}|…|\.\.\.|^\W*$/.test(placeholder);
  }

  /** The largest part of the page around a control that holds no other one. */
  function partOf(element, controls) {
    let part = element;
    for (const ancestor of parentsOf(element)) {
      if (ancestor.tagName === 'FORM' || ancestor.tagName === 'BODY') break;
      if (controls.some((other) => other !== element && contains(ancestor, other))) break;
      part = ancestor;
    }
    return part;
  }

  /** The text in the part of a control, rather before it than after it. */
  function textInside(element, controls) {
    const part = partOf(element, controls);
    const own = Array.from(textNodesOf(part)).filter(
      (node) =>
        !node.parentElement.closest(
          'a, button, [role="button"], [role="alert"], select, textarea, script, style, [onclick], h1, h2, h3, h4, [role="heading"]',
        ) && !isMessage(node.parentElement),
    );
    const before = own.filter(
      (node) => node.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING && !isPointer(node.parentElement),
    );
    const after = own.filter((node) => !before.includes(node) && !isPointer(node.parentElement));
    for (const nodes of [before, after]) {
      const text = clean(nodes.map(({ data }) => data).join(' '));
      if (text !== '' && text.length <= 60) return text;
    }
    return '';
  }

  /** The text right before the part of a control. */
  function textBefore(element, controls) {
    const part = partOf(element, controls);
    for (let node = part.previousSibling; node; node = node.previousSibling) {
      if (
        node.nodeType === Node.ELEMENT_NODE &&
        (node.matches(`${controlSelector}, a, button, h1, h2, h3, h4, [role="heading"]`) ||
          node.querySelector(`${controlSelector}, button`))
      )
        break;
      const text = node.nodeType === Node.COMMENT_NODE || isMessage(node) ? '' : textOf(node);
      if (text !== '') return text.length <= 60 ? text : '';
    }
    return '';
  }

  function isMessage(node) {
    return (
      node.nodeType === Node.ELEMENT_NODE && (node.matches('[role="alert"], [aria-live]') || isRed(node) || spoken.test(node.className))
    );
  }

  function* textNodesOf(part) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.data.trim() !== '') yield walker.currentNode;
  }

  function isPointer(element) {
    return styleOf(element).cursor === 'pointer' && !element.closest('label');
  }

  function hintOf(element) {
    const described = clean(`${textOfIds(element, 'aria-describedby')} ${textOfIds(element, 'aria-errormessage')}`);
    return (described || clean(element.getAttribute('title'))).slice(0, 300);
  }

  /** The texts of the elements whose ids an attribute lists. */
  function textOfIds(element, attribute) {
    const ids = (element.getAttribute(attribute) ?? '').split(/\s+/).filter(Boolean);
    return ids.map((id) => textOf(element.getRootNode().getElementById?.(id))).join(' ');
  }

  /** Shadow trees take some of what they show from their hosts. */
  function hostAttribute(element, name) {
    const root = element.getRootNode();
    return root instanceof ShadowRoot ? (root.host.getAttribute(name) ?? '') : '';
  }

  function clean(text) {
    return (text ?? '')
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/\s*[*:：＊]+\s*$/u, '')
      .trim();
  }

  /** The text of a node without that of the controls, buttons and links in it. */
  function textOf(node) {
    if (!node) return '';
    if (node.nodeType === Node.TEXT_NODE) return clean(node.data);
    if (node.tagName === 'IMG') return clean(node.alt);
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches('script, style, template, noscript, button, select, textarea, [role="button"]'))
      return '';
    return clean(Array.from((node.shadowRoot ?? globalThis.closedRoots?.get(node) ?? node).childNodes, textOf).join(' '));
  }

  function innerTextOf(element) {
    return element.innerText ?? element.textContent ?? '';
  }

  function linesOf(element) {
    const own = element.type === 'radio' ? Array.from(element.labels ?? [], innerTextOf).join('\n') : innerTextOf(element);
    return own.split('\n').map(clean).filter(Boolean);
  }

  function labelledText(element) {
    if (element.tagName === 'INPUT' && element.type !== 'radio') return element.value;
    return linesOf(element).join(' ');
  }

  function nameOf(element) {
    const images = Array.from(
      element.querySelectorAll('img[alt], svg title, [aria-label]'),
      (image) => image.getAttribute('alt') ?? image.getAttribute('aria-label') ?? image.textContent,
    );
    return (
      [
        textOfIds(element, 'aria-labelledby'),
        element.getAttribute('aria-label'),
        element.getAttribute('title'),
        images.join(' '),
        element.getAttribute('alt'),
      ]
        .map(clean)
        .find((text) => text) ?? ''
    );
  }
})();
