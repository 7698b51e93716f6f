// Runs in a world of its own in each frame of a login page, after shapes.js, texts.js and selectors.js. Its value is what observation.ts describes: facts only, what they mean is found out elsewhere.
(() => {
  // While a page is replaced there is none.
  if (!document.documentElement) return undefined;

  const {
    styleOf,
    isVisible,
    isShown,
    isTypedInto,
    isFocused,
    isHiddenFromAssistants,
    isDisabled,
    isRed,
    parentsOf,
    contains,
    enclosing,
    overlaps,
  } = globalThis.shapes;
  const { controlSelector, spoken, clean, labelOf, hintOf, hostAttribute, linesOf, labelledText, nameOf, innerTextOf } = globalThis.texts;
  const { cssOf, xpathOf } = globalThis.selectors;

  /** Since the page can be large and is looked at often. */
  const most = { elements: 30_000, styled: 4000, clickables: 250, text: 4000, name: 1000 };

  const notTyped = new Set(['hidden', 'submit', 'button', 'image', 'reset', 'checkbox', 'radio', 'file', 'range', 'color']);
  const clickableSelector =
    'button, a[href], summary, input[type="submit"], input[type="button"], input[type="image"], input[type="radio"], ' +
    '[role="button"], [role="link"], [role="option"], [role="radio"], [role="menuitem"], [onclick]';

  // The roots of closed shadow trees by their hosts, which shadow-roots.ts puts there.
  const closedRoots = (globalThis.closedRoots ??= new WeakMap());
  const examined = (globalThis.examinedHosts ??= new WeakSet());
  const unexamined = [];

  const all = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (all.length >= most.elements) return;
      all.push(element);
      const shadow = element.shadowRoot ?? closedRoots.get(element);
      if (shadow) walk(shadow);
      else if (mayHaveClosedRoot(element)) unexamined.push(element);
    }
  };
  walk(document);
  globalThis.unexaminedHosts = unexamined;

  const elements = (globalThis.loginElements = []);
  const numbers = new Map();
  const numberOf = (element) => {
    if (!element) return -1;
    if (!numbers.has(element)) numbers.set(element, numbers.size);
    return numbers.get(element);
  };

  const controls = all
    .filter((element) => element.matches(controlSelector) && !notTyped.has(element.type))
    .filter((element) => !inControl(element));
  const styled = all.length <= most.styled ? all : nearControls();
  const clickable = clickables();
  const buttons = clickable.filter(({ isButton }) => isButton);
  const groups = new Map(controls.map((element) => [element, enclosing(element, 'form') ?? groupOf(element)]));
  for (const group of groups.values()) numberOf(group);

  return {
    url: location.href,
    title: document.title.slice(0, most.name),
    ready: document.readyState,
    headings: all
      .filter((element) => /^H[1-3]$|^LEGEND$/.test(element.tagName) || element.getAttribute('role') === 'heading')
      .filter((element) => isVisible(element))
      .slice(0, 10)
      .map((element) => clean(element.textContent).slice(0, most.name)),
    lines: visibleLines(),
    width: innerWidth,
    height: innerHeight,
    hasUnexaminedHosts: unexamined.length > 0,
    controls: controls.map(controlOf),
    clickables: foremost(clickable).map(clickableOf),
    messages: messages(),
    hasCaptcha: all.some(
      (element) =>
        element.tagName === 'IFRAME' &&
        /captcha|challenges\.|turnstile|arkoselabs/i.test(element.src) &&
        isVisible(element) &&
        element.clientHeight > 40,
    ),
  };

  function controlOf(element) {
    const { tagName, type = 'text', name = '', id } = element;
    const box = element.getBoundingClientRect();
    const form = enclosing(element, 'form');
    return {
      element: elements.push(element) - 1,
      tag: tagName.toLowerCase(),
      type: tagName === 'SELECT' ? 'select' : type,
      name: (name || element.getAttribute('formcontrolname') || hostAttribute(element, 'name')).slice(0, most.name),
      id: (id || hostAttribute(element, 'id')).slice(0, most.name),
      autocomplete: (element.getAttribute('autocomplete') ?? hostAttribute(element, 'autocomplete')).toLowerCase(),
      inputMode: element.getAttribute('inputmode') ?? '',
      maxLength: element.maxLength > 0 ? element.maxLength : 0,
      pattern: element.getAttribute('pattern') ?? '',
      placeholder: clean(element.getAttribute('placeholder') ?? hostAttribute(element, 'placeholder')).slice(0, most.name),
      ...labelOf(element, controls),
      hint: hintOf(element),
      required: element.required === true || element.getAttribute('aria-required') === 'true',
      disabled: isDisabled(element) || (element.readOnly === true && !isTypedInto(element)),
      readOnly: element.readOnly === true,
      masked: type === 'password' || !['', 'none', undefined].includes(styleOf(element).webkitTextSecurity),
      focused: isFocused(element),
      visible: isVisible(element) || (isTypedInto(element) && element.isConnected && isShown(element)),
      covered: isCovered(element),
      forAssistants: !isHiddenFromAssistants(element),
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
      form: numberOf(form),
      group: numberOf(groups.get(element)),
      ...placeOf(element),
      formWords: form
        ? [
            form.id,
            form.getAttribute('name'),
            form.className,
            form.getAttribute('action'),
            form.getAttribute('aria-label'),
            form.getAttribute('role'),
          ]
            .join(' ')
            .slice(0, most.name)
        : '',
      groupHeading: headingOf(groups.get(element)),
      options: tagName === 'SELECT' ? Array.from(element.options, ({ text }) => clean(text)).slice(0, 50) : [],
      selector: cssOf(element),
    };
  }

  function clickableOf({ element, isButton }) {
    const text = clean(labelledText(element)) || nameOf(element);
    const form = element.form ?? enclosing(element, 'form');
    const box = element.getBoundingClientRect();
    const [label, ...rest] = linesOf(element);
    return {
      element: elements.push(element) - 1,
      tag: element.tagName.toLowerCase(),
      type: element.type ?? '',
      role: element.getAttribute('role') ?? '',
      text: text.slice(0, 200),
      label: (label ?? text).slice(0, 120),
      description: clean(rest.join(' ')).slice(0, 200),
      accessibleName: nameOf(element).slice(0, 200),
      href: element.tagName === 'A' ? element.href : '',
      isButton,
      isSubmit: /^(submit|image)$/.test(element.type ?? '') && form !== null,
      disabled: isDisabled(element),
      visible: isVisible(element) || (element.type === 'radio' && Array.from(element.labels ?? []).some((found) => isVisible(found))),
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
      form: numberOf(form),
      groups: parentsOf(element)
        .filter((ancestor) => numbers.has(ancestor))
        .map(numberOf),
      ...placeOf(element),
      xpath: xpathOf(element),
    };
  }

  function clickables() {
    const named = all.filter((element) => element.matches(clickableSelector));
    const inNamed = new Set(named);
    // Elements of any kind that only look and behave like buttons.
    const pointed = styled.filter(
      (element) =>
        !inNamed.has(element) &&
        element instanceof HTMLElement &&
        !element.matches(`${controlSelector}, label, option, html, body, input`) &&
        styleOf(element).cursor === 'pointer' &&
        (!element.parentElement || styleOf(element.parentElement).cursor !== 'pointer') &&
        !parentsOf(element).some((ancestor) => inNamed.has(ancestor)) &&
        clean(element.textContent) !== '' &&
        clean(element.textContent).length < 120 &&
        !element.querySelector(clickableSelector),
    );
    const isPointed = new Set(pointed);
    return all
      .filter((element) => inNamed.has(element) || isPointed.has(element))
      .map((element) => ({
        element,
        isButton:
          isPointed.has(element) ||
          (/^(BUTTON|INPUT)$/.test(element.tagName) && element.type !== 'radio') ||
          element.getAttribute('role') === 'button',
      }));
  }

  /** Whether something else is drawn over it that does not belong to it. */
  function isCovered(element) {
    const { x, y, width, height } = element.getBoundingClientRect();
    const hit = element.getRootNode().elementFromPoint?.(x + width / 2, y + height / 2);
    return (
      hit != null && hit !== element && !element.contains(hit) && !Array.from(element.labels ?? []).some((label) => label.contains(hit))
    );
  }

  function placeOf(element) {
    return {
      inSearch:
        enclosing(element, 'search, [role="search"], form[class*="search" i], form[id*="search" i], form[action*="search" i]') !== null,
      inFooter: enclosing(element, 'footer, [role="contentinfo"]') !== null,
      inHeader: enclosing(element, 'header, nav, [role="banner"], [role="navigation"]') !== null,
      inDialog: enclosing(element, 'dialog, [role="dialog"], [aria-modal="true"]') !== null,
    };
  }

  /** The elements around controls, of which the styles are asked for in a page that has too many. */
  function nearControls() {
    const parts = [...new Set(controls.map((element) => parentsOf(element)[5] ?? document.body))];
    const near = parts.length > 0 ? all.filter((element) => parts.some((part) => part.contains(element))) : all;
    return near.slice(0, most.styled);
  }

  /** Those beside controls, and of the others as many as there may be, in their order. */
  function foremost(found) {
    if (found.length <= most.clickables) return found;
    const parts = new Set(groups.values());
    const beside = new Set(found.filter(({ element }) => parentsOf(element).some((parent) => parts.has(parent))));
    const others = new Set(found.filter((one) => !beside.has(one)).slice(0, Math.max(0, most.clickables - beside.size)));
    return found.filter((one) => beside.has(one) || others.has(one)).slice(-most.clickables);
  }

  /** The smallest part of the page around a control outside of forms that has a button of its own. */
  function groupOf(element) {
    const box = element.getBoundingClientRect();
    for (const ancestor of parentsOf(element)) {
      const own = buttons.find(
        ({ element: button }) => contains(ancestor, button) && isVisible(button) && !overlaps(button.getBoundingClientRect(), box),
      );
      if (own) return ancestor;
    }
    return document.documentElement;
  }

  function headingOf(group) {
    if (!group) return '';
    const inside = all.find((element) => /^(H[1-6]|LEGEND)$/.test(element.tagName) && contains(group, element) && isVisible(element));
    return inside ? clean(inside.textContent).slice(0, 120) : '';
  }

  /** What the site says about what was submitted, the surest first. */
  function messages() {
    const invalid = controls.filter((element) => element.getAttribute('aria-invalid') === 'true');
    const ids = invalid.flatMap((element) =>
      [element.getAttribute('aria-errormessage'), element.getAttribute('aria-describedby')]
        .join(' ')
        .split(/\s+/)
        .map((id) => [element, id]),
    );
    const tied = ids.map(([element, id]) => (id ? element.getRootNode().getElementById?.(id) : undefined)).filter(Boolean);
    const alerts = all.filter((element) => element.matches('[role="alert"], [role="alertdialog"], [aria-live="assertive"]'));
    const classed = all.filter(
      (element) =>
        !element.matches(`${controlSelector}, form, body, html, label, fieldset, script, style`) &&
        !/success|info|cookie|hint/i.test(element.className) &&
        spoken.test(`${typeof element.className === 'string' ? element.className : ''} ${element.id}`.replace(/([a-z])([A-Z])/g, '$1-$2')),
    );
    const polite = all.filter((element) => element.matches('[aria-live="polite"], [role="status"], output'));
    const reddish = styled.filter((element) => isRed(element));
    const kinds = [
      ['alert', alerts],
      ['tied', tied],
      ['class', classed],
      ['status', polite],
      ['colour', reddish],
    ];
    return kinds.flatMap(([kind, found]) =>
      found
        .filter((element) => isVisible(element) && !controls.some((control) => contains(element, control)))
        .map((element) => ({ kind, text: clean(innerTextOf(element)).slice(0, 500) }))
        .filter(({ text }) => text.length > 2),
    );
  }

  /** Chromium tells nobody which elements have closed roots: elements of the page's own, and those that are shown with nothing in them. */
  function mayHaveClosedRoot(element) {
    if (examined.has(element)) return false;
    if (element.tagName.includes('-')) return true;
    if (!/^(DIV|SECTION|ARTICLE|MAIN|ASIDE|SPAN|P|HEADER|FOOTER|NAV|BODY|H[1-6]|BLOCKQUOTE)$/.test(element.tagName)) return false;
    return element.childElementCount === 0 && element.textContent === '' && element.clientHeight > 20 && element.clientWidth > 60;
  }

  function inControl(element) {
    return element.parentElement?.closest('[contenteditable=""], [contenteditable="true"]') != null;
  }

  function visibleLines() {
    const parts = [innerTextOf(document.body ?? document.documentElement)];
    for (const element of all) {
      const shadow = element.shadowRoot ?? closedRoots.get(element);
      if (shadow) parts.push(...Array.from(shadow.children, innerTextOf));
    }
    return parts
      .flatMap((part) => part.slice(0, most.text).split('\n').map(clean))
      .filter(Boolean)
      .slice(0, 200);
  }
})();
