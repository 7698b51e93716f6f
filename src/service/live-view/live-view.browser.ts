// Runs in the page of a live view.
import { ask, build, say } from '../../views/view.browser.ts';
import { takeKeyboard } from './keyboard.browser.ts';
import type { LiveInput, LiveViewDetails } from './live-view-messages.ts';
import { takeMouse } from './mouse.browser.ts';

const canvas = document.querySelector('canvas')!;
const context = canvas.getContext('2d')!;
const keyboard = document.querySelector('textarea');
const endButton = document.querySelector<HTMLButtonElement>('#end');
const dialog = document.querySelector('dialog');

const retryMs = 2000;
const giveUpMs = 60_000;
/** The service sends something every 4 s. */
const silentMs = 15_000;

let lostAt: number | undefined;
let socket = connect();

let newest: Blob | undefined;
let isShowing = false;

if (keyboard) {
  takeMouse(canvas, keyboard, send);
  takeKeyboard(keyboard, send);
}
// Inside another page, such as the hosted login, a viewer can't end the session.
if (endButton && window.top === window) endButton.hidden = false;
endButton?.addEventListener('click', () => {
  dialog?.showModal();
  // The attribute autofocus would take the focus when the view opens inside another page.
  dialog?.querySelector<HTMLButtonElement>('[value=cancel]')?.focus();
});
dialog?.addEventListener('close', () => {
  if (dialog.returnValue === 'end') send({ type: 'end' });
});

function connect(): WebSocket {
  const url = new URL(`live/socket${location.search}`, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url);
  let silence: number | undefined;
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
  socket.addEventListener('message', ({ data }: MessageEvent<Blob | string>) => {
    hear();
    if (data === '') return;
    if (typeof data === 'string') return showDetails(JSON.parse(data) as LiveViewDetails);
    newest = data;
    if (!isShowing) void show();
  });
  const close = ({ code, reason }: CloseEvent) => {
    clearTimeout(silence);
    if (code === 1001 || code === 1008) end(`Ended: ${reason}.`);
    else void reconnect();
  };
  socket.addEventListener('close', close, { once: true });
  return socket;
}

async function reconnect(): Promise<void> {
  lostAt ??= Date.now();
  say('The connection is lost; trying again.', 'warn');
  // A refused socket doesn't say why. A request for the page does.
  const response = await ask(location.href);
  if (response?.status === 404) return end('Ended: the session has ended, or its lease was given back.');
  if (Date.now() - lostAt > giveUpMs) return say('The connection is lost. Reload the page to try again.', 'warn');
  setTimeout(() => (socket = connect()), retryMs);
}

/** Shows the newest picture. Skips pictures that come faster than they can be shown. */
async function show(): Promise<void> {
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
    if (socket.readyState === WebSocket.OPEN) say('Live', 'good');
  }
  isShowing = false;
}

function showDetails({ test, ...details }: LiveViewDetails): void {
  document.title = `${test ?? details.session} – Live view`;
  document.querySelector('h1')!.textContent = test ?? 'Live view';
  const facts = { Pool: details.pool, Session: details.session, Page: details.url };
  document
    .querySelector('dl')!
    .replaceChildren(
      ...Object.entries(facts).flatMap(([name, value]) =>
        value ? [build('div', {}, build('dt', {}, name), build('dd', { title: value }, value))] : [],
      ),
    );
}

function end(text: string): void {
  say(text);
  endButton?.remove();
  dialog?.remove();
}

function send(input: LiveInput | { type: 'end' }): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(input));
}
