import { modifiersOf } from './keyboard.browser.ts';
import type { LiveInput } from './live-view-messages.ts';

type MouseInput = Extract<LiveInput, { type: 'mouse' }>;

const buttons = ['left', 'middle', 'right', 'back', 'forward'] as const;
/** The bits of these buttons in `MouseEvent.buttons`. */
const bits = [1, 4, 2, 8, 16];
const farthestWheel = 10_000;
const multiClickMs = 500;
const multiClickPixels = 5;

/** Sends the viewer's mouse input to the session. A press focuses `keyboard`. Runs in the page of a live view. */
export function takeMouse(canvas: HTMLCanvasElement, keyboard: HTMLElement, send: (input: LiveInput) => void): void {
  let lastPress = { button: '', at: -Infinity, x: 0, y: 0, count: 0 };
  /** The pressed buttons, in the order in which they were pressed. */
  let held: MouseInput['button'][] = [];
  let waitingMove: PointerEvent | undefined;

  canvas.addEventListener('pointermove', (event) => {
    if (!event.isPrimary) return;
    // While one button is held, `pointermove` reports the others.
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
  // `mousedown` would take the keyboard's focus, and `mouseup` of the back and forward buttons would leave the view.
  for (const type of ['mousedown', 'mouseup', 'contextmenu'])
    canvas.addEventListener(type, (event) => event.preventDefault());
  canvas.addEventListener('wheel', turnWheel, { passive: false });

  function press(event: PointerEvent): void {
    const button = buttons[event.button];
    if (!event.isPrimary || button === undefined || !isInside(pointOf(event))) return;
    keyboard.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    sendMove();
    const { clientX: x, clientY: y, timeStamp: at } = event;
    const again =
      button === lastPress.button &&
      at - lastPress.at < multiClickMs &&
      Math.hypot(x - lastPress.x, y - lastPress.y) < multiClickPixels;
    lastPress = { button, at, x, y, count: again ? Math.min(lastPress.count + 1, 3) : 1 };
    held.push(button);
    sendMouse('press', event, button);
  }

  function release(event: PointerEvent): void {
    const button = buttons[event.button];
    if (!event.isPrimary || button === undefined || !held.includes(button)) return;
    sendMove();
    held = held.filter((other) => other !== button);
    sendMouse('release', event, button);
  }

  function turnWheel(event: WheelEvent): void {
    const point = pointOf(event);
    // With Control, the wheel zooms the viewer's own page.
    if (event.ctrlKey || !isInside(point)) return;
    event.preventDefault();
    sendMove();
    const pixels = [1, 16, canvas.clientHeight][event.deltaMode] ?? 1;
    const distance = (delta: number) => clamp(delta * pixels, -farthestWheel, farthestWheel);
    send({
      type: 'wheel',
      ...point,
      deltaX: distance(event.deltaX),
      deltaY: distance(event.deltaY),
      modifiers: modifiersOf(event),
    });
  }

  function sendMove(): void {
    if (waitingMove) sendMouse('move', waitingMove, held.at(-1) ?? 'none');
    waitingMove = undefined;
  }

  function sendMouse(action: MouseInput['action'], event: PointerEvent, button: MouseInput['button']): void {
    const { x, y } = pointOf(event);
    const clickCount = action === 'move' ? 0 : button === lastPress.button ? lastPress.count : 1;
    const modifiers = modifiersOf(event);
    send({
      type: 'mouse',
      action,
      x: clamp(x, 0, 1),
      y: clamp(y, 0, 1),
      button,
      buttons: event.buttons,
      clickCount,
      modifiers,
    });
  }

  /** In fractions of the picture's width and height. */
  function pointOf({ clientX, clientY }: MouseEvent): { x: number; y: number } {
    const box = canvas.getBoundingClientRect();
    const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
    const [width, height] = [canvas.width * scale, canvas.height * scale];
    return {
      x: (clientX - box.x - (box.width - width) / 2) / width,
      y: (clientY - box.y - (box.height - height) / 2) / height,
    };
  }
}

function isInside({ x, y }: { x: number; y: number }): boolean {
  return x >= 0 && x <= 1 && y >= 0 && y <= 1;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
