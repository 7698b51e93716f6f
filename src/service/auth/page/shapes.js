// Where the elements of a page lie and which of them a person sees. Runs before observe.js, anew for each look at the page.
globalThis.shapes = (() => {
  const styles = new Map();
  const clips = new Map();

  return {
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
  };

  function styleOf(element) {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  }

  function isVisible(element) {
    if (!element.isConnected) return false;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: false })) return false;
    return isShown(element);
  }

  /** Whether some of it lies where it can be scrolled to, and nothing around it cuts it off. */
  function isShown(element) {
    const box = element.getBoundingClientRect();
    if (box.width < 3 || box.height < 3) return false;
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return false;
    const { clientWidth, scrollWidth, scrollHeight, clientHeight } = document.documentElement;
    if (box.left + scrollX >= Math.max(clientWidth, scrollWidth) || box.top + scrollY >= Math.max(clientHeight, scrollHeight)) return false;
    return !parentsOf(element).some((ancestor) => cutsOff(ancestor, box)) && !isClipped(element);
  }

  function cutsOff(ancestor, box) {
    if (!clips.has(ancestor)) {
      const { overflowX, overflowY } = ancestor instanceof Element ? styleOf(ancestor) : {};
      const outer = (overflowX === 'hidden' || overflowY === 'hidden' || overflowX === 'clip') && !/^(HTML|BODY)$/.test(ancestor.tagName);
      clips.set(ancestor, isClipped(ancestor) ? 'all' : outer ? ancestor.getBoundingClientRect() : undefined);
    }
    const clip = clips.get(ancestor);
    if (clip === 'all') return true;
    return clip !== undefined && !overlaps(box, clip, 2);
  }

  function isClipped(element) {
    const { clip, clipPath, position } = styleOf(element);
    return (
      (/^absolute|^fixed/.test(position) && /^rect\((0|1)px,? (0|1)px,? (0|1)px,? (0|1)px\)$/.test(clip)) ||
      /^inset\((50|100)%\)$/.test(clipPath)
    );
  }

  /** An input that is invisible because something drawn shows what is typed into it. */
  function isTypedInto(element) {
    return /one-time-code/.test(element.getAttribute('autocomplete') ?? '') || (isFocused(element) && element.tabIndex >= 0);
  }

  function isFocused(element) {
    return element.getRootNode().activeElement === element;
  }

  function isHiddenFromAssistants(element) {
    return element.tabIndex < 0 && enclosing(element, '[aria-hidden="true"]') !== null;
  }

  function isDisabled(element) {
    return element.matches(':disabled, [aria-disabled="true"]') || enclosing(element, '[inert]') !== null;
  }

  function isRed(element) {
    if (!(element instanceof HTMLElement) || element.matches('a, button') || !hasOwnText(element)) return false;
    const [red = 0, green = 0, blue = 0] = (styleOf(element).color.match(/[\d.]+/g) ?? []).map(Number);
    return red > 130 && green < 100 && blue < 100;
  }

  function hasOwnText(element) {
    return Array.from(element.childNodes).some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim().length > 5);
  }

  function parentOf(node) {
    return node.assignedSlot ?? node.parentElement ?? (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  }

  function parentsOf(element) {
    const found = [];
    for (let node = parentOf(element); node; node = parentOf(node)) found.push(node);
    return found;
  }

  function contains(ancestor, element) {
    return ancestor.contains(element) || parentsOf(element).includes(ancestor);
  }

  /** As `closest`, out of shadow trees too. */
  function enclosing(element, selector) {
    if (selector === 'form' && element.form) return element.form;
    for (let node = element; node; node = parentOf(node)) if (node.matches(selector)) return node;
    return null;
  }

  function overlaps(a, b, by = 0) {
    return a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by;
  }
})();
