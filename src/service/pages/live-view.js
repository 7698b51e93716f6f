// @ts-check
// Runs in the page of a live view: shows the pictures that come, and sends what the viewer does.

const status = /** @type {HTMLElement} */ (document.querySelector('[role=status]'));
const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('canvas'));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
const keyboard = document.querySelector('textarea');

const retryMs = 2000;
const answerMs = 5000;
const giveUpMs = 60_000;
/** The service says something every 4 s. */
const silentMs = 15_000;
const longestText = 1_000_000;
const farthestWheel = 10_000;
const multiClickMs = 500;
const multiClickPixels = 5;

/** @type {number | undefined} */
let lostAt;
let socket = connect();

/** @type {Blob | undefined} */
let newest;
let isShowing = false;

if (keyboard) {
  takeMouse(keyboard);
  takeKeyboard(keyboard);
}

function connect() {
  const url = new URL(`live/socket${location.search}`, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url);
  let silence = 0;
  const hear = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      // A dead connection takes its time to close.
      socket.dispatchEvent(new CloseEvent('close'));
      socket.close();
    }, silentMs);
  };
  socket.addEventListener('open', () => {
    hear();
    lostAt = undefined;
    say('Connected. The session shows no page yet.');
  });
  socket.addEventListener('message', ({ data }) => {
    hear();
    if (data === '') return;
    newest = data;
    if (!isShowing) void show();
  });
  const close = (/** @type {CloseEvent} */ { code, reason }) => {
    clearTimeout(silence);
    if (code === 1001 || code === 1008) say(`Ended: ${reason}.`);
    else void reconnect();
  };
  socket.addEventListener('close', close, { once: true });
  return socket;
}

async function reconnect() {
  lostAt ??= Date.now();
  say('The connection is lost; trying again.');
  // A socket that is not let in does not learn why; the page itself does.
  const response = await fetch(location.href, { method: 'HEAD', signal: AbortSignal.timeout(answerMs) }).catch(() => undefined);
  if (response?.status === 404) return say('Ended: the session has ended, or its lease was given back.');
  if (Date.now() - lostAt > giveUpMs) return say('The connection is lost. Reload the page to try again.');
  setTimeout(() => (socket = connect()), retryMs);
}

/** Shows the newest picture. Those that come faster than they can be shown are left out. */
async function show() {
  isShowing = true;
  while (newest) {
    const picture = newest;
    newest = undefined;
    if (picture.size === 0) {
      context.clearRect(0, 0, canvas.width, canvas.height);
      say('Connected. The session shows no page any more.');
      continue;
    }
    const bitmap = await createImageBitmap(picture);
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
      canvas.width = bitmap.width;
      canvas.height = bitmap.height;
    }
    context.drawImage(bitmap, 0, 0);
    bitmap.close();
    if (socket.readyState === WebSocket.OPEN) say('Live');
  }
  isShowing = false;
}

/** @param {string} text */
function say(text) {
  if (status.textContent !== text) status.textContent = text;
}

/** @param {object} input */
function send(input) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(input));
}

/** @param {HTMLTextAreaElement} keyboard */
function takeMouse(keyboard) {
  const buttons = ['left', 'middle', 'right', 'back', 'forward'];
  const bits = [1, 4, 2, 8, 16];
  let lastPress = { button: '', at: -Infinity, x: 0, y: 0, count: 0 };
  /** The buttons that are held, the latest one last.
   * @type {string[]} */
  let held = [];
  /** @type {PointerEvent | undefined} */
  let waitingMove;

  canvas.addEventListener('pointermove', (event) => {
    if (!event.isPrimary) return;
    // While one button is held, others come and go in moves.
    if (event.button >= 0) return event.buttons & (bits[event.button] ?? 0) ? press(event) : release(event);
    if (held.length === 0 && !isInside(pointOf(event))) return;
    if (!waitingMove) requestAnimationFrame(sendMove);
    waitingMove = event;
  });
  canvas.addEventListener('pointerdown', press);
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', (event) => {
    if (event.isPrimary) for (const button of held.splice(0)) sendMouse('release', event, button);
  });
  // Without it the focus would leave the keyboard again.
  canvas.addEventListener('mousedown', (event) => event.preventDefault());
  // Without it the buttons for back and forward would leave the view, too.
  canvas.addEventListener('mouseup', (event) => event.preventDefault());
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('wheel', turnWheel, { passive: false });

  /** @param {PointerEvent} event */
  function press(event) {
    const button = buttons[event.button];
    if (!event.isPrimary || button === undefined || !isInside(pointOf(event))) return;
    keyboard.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    sendMove();
    const { clientX: x, clientY: y, timeStamp: at } = event;
    const again =
      button === lastPress.button && at - lastPress.at < multiClickMs && Math.hypot(x - lastPress.x, y - lastPress.y) < multiClickPixels;
    lastPress = { button, at, x, y, count: again ? Math.min(lastPress.count + 1, 3) : 1 };
    held.push(button);
    sendMouse('press', event, button);
  }

  /** @param {PointerEvent} event */
  function release(event) {
    const button = buttons[event.button];
    if (!event.isPrimary || button === undefined || !held.includes(button)) return;
    sendMove();
    held = held.filter((other) => other !== button);
    sendMouse('release', event, button);
  }

  /** @param {WheelEvent} event */
  function turnWheel(event) {
    const point = pointOf(event);
    // With Control it is the viewer's own zoom.
    if (event.ctrlKey || !isInside(point)) return;
    event.preventDefault();
    sendMove();
    const pixels = [1, 16, canvas.clientHeight][event.deltaMode] ?? 1;
    const deltaX = clamp(event.deltaX * pixels, -farthestWheel, farthestWheel);
    const deltaY = clamp(event.deltaY * pixels, -farthestWheel, farthestWheel);
    send({ type: 'wheel', ...point, deltaX, deltaY, modifiers: modifiersOf(event) });
  }

  function sendMove() {
    if (waitingMove) sendMouse('move', waitingMove, held.at(-1) ?? 'none');
    waitingMove = undefined;
  }

  /** @param {'move' | 'press' | 'release'} action @param {PointerEvent} event @param {string} button */
  function sendMouse(action, event, button) {
    const { x, y } = pointOf(event);
    const clickCount = action === 'move' ? 0 : button === lastPress.button ? lastPress.count : 1;
    const modifiers = modifiersOf(event);
    send({ type: 'mouse', action, x: clamp(x, 0, 1), y: clamp(y, 0, 1), button, buttons: event.buttons, clickCount, modifiers });
  }
}

/** @param {HTMLTextAreaElement} keyboard */
function takeKeyboard(keyboard) {
  /** What releases the keys that are held, by their codes.
   * @type {Map<string, object>} */
  const held = new Map();

  keyboard.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'Escape' && event.shiftKey) {
      event.preventDefault();
      return keyboard.blur();
    }
    // An input method makes text of it.
    if (event.isComposing || event.keyCode === 229 || key === 'Dead') return;
    // The event `paste` brings the text.
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'v') return;
    event.preventDefault();
    send(keyInput('press', event));
    held.set(event.code, keyInput('release', event));
  });
  keyboard.addEventListener('keyup', (event) => {
    if (held.delete(event.code)) send(keyInput('release', event));
  });
  keyboard.addEventListener('blur', () => {
    for (const release of held.values()) send(release);
    held.clear();
  });
  keyboard.addEventListener('input', (event) => {
    if (!(event instanceof InputEvent && event.isComposing)) sendWritten();
  });
  keyboard.addEventListener('compositionend', sendWritten);
  keyboard.addEventListener('paste', (event) => {
    event.preventDefault();
    sendText(event.clipboardData?.getData('text/plain') ?? '');
  });

  /** Sends what an input method or a screen's keyboard has written. */
  function sendWritten() {
    sendText(keyboard.value);
    keyboard.value = '';
  }
}

/** @param {string} text */
function sendText(text) {
  if (text !== '') send({ type: 'text', text: text.slice(0, longestText) });
}

/** @param {'press' | 'release'} action @param {KeyboardEvent} event */
function keyInput(action, event) {
  const { key, code, keyCode, location, repeat } = event;
  // With AltGr, or Option on a Mac, a key types another character and is no shortcut.
  const isComposed = event.getModifierState('AltGraph') || (event.altKey && key.length === 1 && !/[a-z0-9 ]/i.test(key));
  const modifiers = isComposed ? modifiersOf(event) & ~3 : modifiersOf(event);
  return { type: 'key', action, key, code, keyCode, location, repeat, modifiers };
}

/** The bits of CDP's input events.
 * @param {MouseEvent | KeyboardEvent} event */
function modifiersOf({ altKey, ctrlKey, metaKey, shiftKey }) {
  return (altKey ? 1 : 0) | (ctrlKey ? 2 : 0) | (metaKey ? 4 : 0) | (shiftKey ? 8 : 0);
}

/** Where an event is in the picture, as fractions of its width and height.
 * @param {MouseEvent} event */
function pointOf({ clientX, clientY }) {
  const box = canvas.getBoundingClientRect();
  const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
  const [width, height] = [canvas.width * scale, canvas.height * scale];
  return { x: (clientX - box.x - (box.width - width) / 2) / width, y: (clientY - box.y - (box.height - height) / 2) / height };
}

/** @param {{ x: number, y: number }} point */
function isInside({ x, y }) {
  return x >= 0 && x <= 1 && y >= 0 && y <= 1;
}

/** @param {number} value @param {number} least @param {number} most */
function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}
