// Copies into dist what the compiler leaves out: the files that browsers load. Runs after it, as a part of `npm run build`.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

copyPageFiles();
copyMediabunny();

/** The scripts, styles and documents of pages. */
function copyPageFiles() {
  const names = readdirSync(join(root, 'src'), { recursive: true }).filter((name) => /\.(html|css|js)$/.test(name));
  for (const name of names) {
    const source = join(root, 'src', name);
    if (name.endsWith('.js') && existsSync(source.replace(/js$/, 'ts'))) {
      throw new Error(`${source} would take the place of a compiled file: give it another name`);
    }
    copy(source, join(root, 'dist/src', name));
  }
}

/** Chromium runs it to encode recordings; its licence asks to say where its source is. */
function copyMediabunny() {
  const from = join(root, 'node_modules/mediabunny');
  const to = join(root, 'dist/src/service/browsers/encoder');
  const { version, homepage } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  copy(join(from, 'dist/bundles/mediabunny.min.cjs'), join(to, 'mediabunny.js'));
  const notice = `mediabunny.js is mediabunny ${version}, unchanged. Its source: https://www.npmjs.com/package/mediabunny/v/${version} (folder src), ${homepage}\n\n`;
  writeFileSync(join(to, 'mediabunny.LICENSE'), notice + readFileSync(join(from, 'LICENSE'), 'utf8'));
}

function copy(source, target) {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(source, target);
}
