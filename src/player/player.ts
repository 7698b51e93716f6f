import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/** A place in the video that the player lists by its title. */
export type Chapter = {
  title: string;
  /** Milliseconds from the start of the video. */
  atMs: number;
  /** How deep it lies below the chapters before it; 0, the default, is the outermost. */
  level?: number;
  /** Marks what went wrong. */
  failed?: boolean;
};

export type PlayerOptions = {
  title: string;
  /** `src` is a URL, which may be a `data:` URL; `type` its media type. */
  video: { src: string; type: string };
  /** In the order in which they are listed. */
  chapters: Chapter[];
  /** What else there is to say of the video, a sentence each. */
  notes?: string[];
  /** An error message, shown as it is, but for its terminal colours. */
  error?: string;
  /** The nonce by which the page's Content-Security-Policy knows the script and the style. */
  nonce?: string;
};

/** A page that plays a video: one HTML document that loads nothing but the video. All texts are escaped. */
export function playerPage({ title, video, chapters, notes = [], error, nonce }: PlayerOptions): string {
  assets ??= { script: readAsset('page.js'), style: readAsset('page.css') };
  const allowed = nonce === undefined ? '' : ` nonce="${text(nonce)}"`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<link rel="icon" href="data:,">
<style${allowed}>${assets.style}</style>
</head>
<body>
<header>
<h1>${text(title)}</h1>
${notes.map((note) => `<p>${text(note)}</p>`).join('\n')}
</header>
<main>
<div class="player">
<video controls playsinline preload="metadata" aria-label="Recording"><source src="${text(video.src)}" type="${text(video.type)}"></video>
<p role="alert" hidden>The video cannot be played: it could not be loaded, or this browser does not know its format (${text(video.type)}).</p>
<div class="bar">
<label>Speed <select>${speeds.map((speed) => `<option value="${speed}"${speed === 1 ? ' selected' : ''}>${speed}×</option>`).join('')}</select></label>
<p>Keys: <kbd>Space</kbd> play or pause, <kbd>←</kbd> <kbd>→</kbd> 5 seconds, <kbd>&lt;</kbd> <kbd>&gt;</kbd> speed, <kbd>f</kbd> full screen</p>
</div>
</div>
${chapters.length === 0 ? '' : `<nav aria-labelledby="chapters">\n<h2 id="chapters">Chapters</h2>\n${outline(chapters)}\n</nav>`}
${error === undefined ? '' : `<section aria-labelledby="error">\n<h2 id="error">Error</h2>\n<pre tabindex="0" aria-labelledby="error">${text(error)}</pre>\n</section>`}
</main>
<script type="module"${allowed}>${assets.script}</script>
</body>
</html>
`;
}

const speeds = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 3, 4];

let assets: { script: string; style: string } | undefined;

function readAsset(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

/** The chapters as a list, in which those of a deeper level belong to the one before them. */
function outline(chapters: Chapter[]): string {
  let items = '';
  for (let start = 0, end = 0; start < chapters.length; start = end) {
    const chapter = chapters[start] as Chapter;
    end = start + 1;
    while (levelOf(chapters[end]) > levelOf(chapter)) end++;
    items += `<li>${button(chapter)}${outline(chapters.slice(start + 1, end))}</li>\n`;
  }
  return items && `<ol>\n${items}</ol>`;
}

function levelOf(chapter: Chapter | undefined): number {
  return chapter ? (chapter.level ?? 0) : -Infinity;
}

function button({ title, atMs, failed }: Chapter): string {
  const seconds = Math.max(0, atMs) / 1000;
  const mark = failed ? ' <strong>failed</strong>' : '';
  return `<button type="button" data-at="${seconds}"><span>${clockTime(seconds)}</span> <bdi>${text(title)}</bdi>${mark}</button>`;
}

/** 3:07, or 1:00:00. */
function clockTime(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const parts = hours > 0 ? [hours, pad(minutes), pad(whole % 60)] : [minutes, pad(whole % 60)];
  return parts.join(':');
}

function pad(part: number): string {
  return String(part).padStart(2, '0');
}

/** Text as it may stand in HTML, in attributes too. */
function text(value: string): string {
  return stripVTControlCharacters(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
