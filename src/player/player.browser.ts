// The script of the page that plays a recording: keys, speed and chapters. `player.ts` makes the page.

const video = document.querySelector('video')!;
const speed = document.querySelector('select')!;
const failure = document.querySelector<HTMLElement>('[role=alert]')!;
const list = document.querySelector('nav');
/** The most pictures that the player looks at. */
const whiteSteps = 40;
const chapters = Array.from(document.querySelectorAll('button'), (button) => ({
  button,
  at: Number(button.dataset['at']),
}));

const actions: Record<string, () => unknown> = {
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
// Listens in the capture phase: errors of the source don't bubble, and the video's controls would take the keys first.
video.addEventListener('error', () => (failure.hidden = false), true);
document.addEventListener('keydown', takeKey, true);
addEventListener('hashchange', () => seekToFragment());
if (video.readyState > 0) start();
else video.addEventListener('loadedmetadata', start, { once: true });

/** Begins at the right time. The file of an interrupted recording has no duration, so first seek the end to find it. */
function start(): void {
  const begin = () => seekToFragment(video.dataset['start']);
  if (video.duration !== Infinity) return begin();
  video.addEventListener('durationchange', begin, { once: true });
  video.currentTime = Number.MAX_SAFE_INTEGER / 1e6;
}

/** Seeks to the time in the URL's fragment (`#t=12.5`), else to `otherwise`, in seconds. */
function seekToFragment(otherwise?: string): void {
  const seconds = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash)?.[1] ?? otherwise;
  if (seconds === undefined) return;
  video.currentTime = Number(seconds);
  if (Number(seconds) === 0) void skipWhite();
}

/** Before its first page, a browser is white: begins at the first picture that isn't, unless somebody plays or seeks. */
async function skipWhite(): Promise<void> {
  const step = Math.max(video.duration / whiteSteps, 0.1);
  for (let at = 0; at < video.duration; at += step) {
    while (video.seeking || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA)
      await Promise.race(['loadeddata', 'seeked'].map(happens));
    if (!video.paused || Math.abs(video.currentTime - at) > 0.05) return;
    if (!isWhite()) return;
    if (at + step < video.duration) video.currentTime = at + step;
  }
  video.currentTime = 0;
}

function happens(event: string): Promise<unknown> {
  return new Promise((resolve) => video.addEventListener(event, resolve, { once: true }));
}

function isWhite(): boolean {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [32, 18];
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return false;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height).data.every((value) => value > 250);
}

function changeSpeed(step: number): void {
  const option = speed.options[speed.selectedIndex + step];
  if (!option) return;
  speed.value = option.value;
  video.playbackRate = Number(option.value);
}

function takeKey(event: KeyboardEvent): void {
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey || !(event.target instanceof Element)) return;
  // These elements use the key themselves.
  if (event.target.closest(event.key === ' ' ? 'button, select, video' : 'select, pre')) return;
  event.preventDefault();
  action();
}

/** Marks the last chapter that has begun. */
function markChapter(): void {
  // Add 0.05 s, because seeking may end a little too early.
  const begun = chapters.filter(({ at }) => at <= video.currentTime + 0.05);
  const latest = Math.max(...begun.map(({ at }) => at));
  const current = begun.findLast(({ at }) => at === latest)?.button;
  if (current?.ariaCurrent === 'true') return;
  for (const { button } of chapters) button.ariaCurrent = button === current ? 'true' : null;
  if (current) bringIntoView(current);
}

/** Scrolls the list, never the page. */
function bringIntoView(button: HTMLElement): void {
  if (!list) return;
  const [outer, inner] = [list.getBoundingClientRect(), button.getBoundingClientRect()];
  const [top, bottom] = [outer.top + list.clientTop, outer.bottom - list.clientTop];
  if (inner.top < top) list.scrollTop -= Math.ceil(top - inner.top);
  else if (inner.bottom > bottom) list.scrollTop += Math.ceil(inner.bottom - bottom);
}
