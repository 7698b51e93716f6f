// @ts-check
// Runs in the page that player.ts makes.

const video = /** @type {HTMLVideoElement} */ (document.querySelector('video'));
const speed = /** @type {HTMLSelectElement} */ (document.querySelector('select'));
const failure = /** @type {HTMLElement} */ (document.querySelector('[role=alert]'));
const list = document.querySelector('nav');
const chapters = Array.from(document.querySelectorAll('button'), (button) => ({ button, at: Number(button.dataset['at']) }));

/** @type {Record<string, () => unknown>} */
const actions = {
  ' ': () => (video.paused ? video.play().catch(() => {}) : video.pause()),
  ArrowLeft: () => (video.currentTime -= 5),
  ArrowRight: () => (video.currentTime += 5),
  '<': () => changeSpeed(-1),
  '>': () => changeSpeed(1),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : video.requestFullscreen()).catch(() => {}),
};

for (const { button, at } of chapters) button.addEventListener('click', () => (video.currentTime = at));
speed.addEventListener('change', () => (video.playbackRate = Number(speed.value)));
video.addEventListener('ratechange', () => (speed.value = String(video.playbackRate)));
for (const type of ['timeupdate', 'seeking', 'seeked']) video.addEventListener(type, markChapter);
// In the capture phase: errors of the source do not bubble, and the video's own controls would take the keys first.
video.addEventListener('error', () => (failure.hidden = false), true);
document.addEventListener('keydown', takeKey, true);
addEventListener('hashchange', seekToFragment);
if (video.readyState > 0) start();
else video.addEventListener('loadedmetadata', start, { once: true });

/** The file of a recording that broke off may not say how long it is; the browser finds out when it looks for the end. */
function start() {
  if (video.duration !== Infinity) return seekToFragment();
  const restart = () => {
    video.currentTime = 0;
    seekToFragment();
  };
  video.addEventListener('durationchange', restart, { once: true });
  video.currentTime = Number.MAX_SAFE_INTEGER / 1e6;
}

function seekToFragment() {
  const [, seconds] = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash) ?? [];
  if (seconds !== undefined) video.currentTime = Number(seconds);
}

/** @param {number} step */
function changeSpeed(step) {
  const option = speed.options[speed.selectedIndex + step];
  if (!option) return;
  speed.value = option.value;
  video.playbackRate = Number(option.value);
}

/** @param {KeyboardEvent} event */
function takeKey(event) {
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey || !(event.target instanceof Element)) return;
  // Those that do something with the key themselves.
  if (event.target.closest(event.key === ' ' ? 'button, select, video' : 'select, pre')) return;
  event.preventDefault();
  action();
}

/** Marks the chapter that plays: the last one that has begun. */
function markChapter() {
  // Seeking may end a little before the time that was asked for.
  const begun = chapters.filter(({ at }) => at <= video.currentTime + 0.05);
  const latest = Math.max(...begun.map(({ at }) => at));
  const current = begun.findLast(({ at }) => at === latest)?.button;
  if (current?.ariaCurrent === 'true') return;
  for (const { button } of chapters) button.ariaCurrent = button === current ? 'true' : null;
  if (current) bringIntoView(current);
}

/** Scrolls the list only: the page must not move away from the video.
 * @param {HTMLElement} button */
function bringIntoView(button) {
  if (!list) return;
  const [outer, inner] = [list.getBoundingClientRect(), button.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}
