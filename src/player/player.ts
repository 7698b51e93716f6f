import { stripVTControlCharacters } from 'node:util';
import { viewFile, viewStyle } from '../views/view-file.ts';

/** A place in the recording that the player lists beside the video. */
export type Chapter = {
  title: string;
  /** Milliseconds from the start of the video. */
  atMs: number;
  /** Depth in the list; the default 0 is the outermost. */
  level?: number;
  /** The player starts at the end of the first chapter that failed. */
  failed?: boolean;
  /** Milliseconds from the start of the video, for a chapter that failed. Default: `atMs`. */
  endMs?: number;
};

export type PlayerOptions = {
  title: string;
  /** `src` may be a `data:` URL; `type` is the media type. */
  video: { src: string; type: string };
  chapters: Chapter[];
  /** More sentences above the video. */
  notes?: string[];
  /** The text of a test's error. Colour codes for terminals are removed. */
  error?: string;
  /** The nonce of the script and the style in the page's Content-Security-Policy. */
  nonce?: string;
};

/** Returns the HTML page that plays a recording, for the service's replay view and the reporter. It loads only the video. */
export function playerPage({ title, video, chapters, notes = [], error, nonce }: PlayerOptions): string {
  const allowed = nonce === undefined ? '' : ` nonce="${text(nonce)}"`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<link rel="icon" href="data:,">
<style${allowed}>${viewStyle('player/player.css')}</style>
</head>
<body>
<header>
<h1>${text(title)}</h1>
${notes.map((note) => `<p>${text(note)}</p>`).join('\n')}
</header>
<main>
<div class="player">
<video controls playsinline preload="metadata" aria-label="Recording" data-start="${seconds(startOf(chapters) ?? 0)}"><source src="${text(video.src)}" type="${text(video.type)}"></video>
<p role="alert" hidden>The video cannot be played: it could not be loaded, or this browser does not know its format (${text(video.type)}).</p>
<div class="bar">
<label>Speed <select>${speeds.map((speed) => `<option value="${speed}"${speed === 1 ? ' selected' : ''}>${speed}×</option>`).join('')}</select></label>
<p>Keys: <kbd>Space</kbd> play or pause, <kbd>←</kbd> <kbd>→</kbd> 5 seconds, <kbd>&lt;</kbd> <kbd>&gt;</kbd> speed, <kbd>f</kbd> full screen</p>
</div>
</div>
${chapters.length === 0 ? '' : `<nav class="card" aria-labelledby="chapters">\n<h2 id="chapters">Chapters</h2>\n${outline(chapters, areClose(chapters))}\n</nav>`}
${error === undefined ? '' : `<section aria-labelledby="error">\n<h2 id="error">Error</h2>\n<pre tabindex="0" aria-labelledby="error">${text(error)}</pre>\n</section>`}
</main>
<script type="module"${allowed}>${viewFile('player/player.browser.js')}</script>
</body>
</html>
`;
}

const speeds = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 3, 4];

/** Nests chapters of a deeper level below the one before them. */
function outline(chapters: Chapter[], withTenths: boolean): string {
  let items = '';
  for (let start = 0, end = 0; start < chapters.length; start = end) {
    end = endOf(chapters, start);
    items += `<li>${button(chapters[start]!, withTenths)}${outline(chapters.slice(start + 1, end), withTenths)}</li>\n`;
  }
  return items && `<ol>\n${items}</ol>`;
}

/** The index after the chapter and all chapters below it. */
function endOf(chapters: Chapter[], start: number): number {
  const { level: outer = 0 } = chapters[start]!;
  const next = chapters.findIndex(({ level = 0 }, index) => index > start && level <= outer);
  return next === -1 ? chapters.length : next;
}

/** The end of the innermost chapter that failed first: the picture there shows the reason. */
function startOf(chapters: Chapter[]): number | undefined {
  const first = chapters.findIndex(({ failed }) => failed);
  if (first === -1) return undefined;
  const { atMs, endMs = atMs } = chapters[first]!;
  // A little earlier, because the next chapter may begin there.
  const shown = Math.max(atMs, endMs - 100);
  return startOf(chapters.slice(first + 1, endOf(chapters, first))) ?? shown;
}

/** Whether two chapters begin within the same second. */
function areClose(chapters: Chapter[]): boolean {
  const times = chapters.map(({ atMs }) => Math.max(0, atMs)).toSorted((a, b) => a - b);
  return times.some((time, index) => index > 0 && time > times[index - 1]! && time < times[index - 1]! + 1000);
}

function button({ title, atMs, failed }: Chapter, withTenths: boolean): string {
  const mark = failed ? ' <strong>failed</strong>' : '';
  return `<button type="button" data-at="${seconds(atMs)}"><span>${clockTime(atMs, withTenths)}</span> <bdi>${text(title)}</bdi>${mark}</button>`;
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}

/** `3:07`, `3:07.4` or `1:00:00`. */
function clockTime(ms: number, withTenths: boolean): string {
  const shown = Math.max(0, ms);
  const hours = Math.floor(shown / 3_600_000);
  const time = new Date(shown).toISOString().slice('1970-01-01T00:'.length, withTenths ? -3 : -5);
  return hours > 0 ? `${hours}:${time}` : time.replace(/^0/, '');
}

/** Escapes text for HTML and its attributes. */
function text(value: string): string {
  return stripVTControlCharacters(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
