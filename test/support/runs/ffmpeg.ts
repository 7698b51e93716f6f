import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { namedBuild, playwrightDirectory } from '../../../src/service/chromium/playwright-builds.ts';

/** Writes the pictures into the file as they come, in Matroska: the last argument is its path. */
export const standInFfmpeg = '#!/bin/sh\nfor path; do :; done\nexec cat > "$path"\n';

/**
 * The variable that leads to Playwright's builds with its ffmpeg: those of this machine, or in `directory` links to them and
 * a stand-in for the ffmpeg.
 */
export async function withFfmpeg(directory: string): Promise<{ PLAYWRIGHT_BROWSERS_PATH: string }> {
  const installed = playwrightDirectory(process.env);
  const { revisions } = (await namedBuild('ffmpeg'))!;
  const name = `ffmpeg-${revisions[0]}`;
  if (existsSync(join(installed, name))) return { PLAYWRIGHT_BROWSERS_PATH: installed };
  mkdirSync(join(directory, name), { recursive: true });
  for (const other of existsSync(installed) ? readdirSync(installed) : [])
    symlinkSync(join(installed, other), join(directory, other));
  for (const program of ['ffmpeg-linux', 'ffmpeg-mac'])
    writeFileSync(join(directory, name, program), standInFfmpeg, { mode: 0o755 });
  writeFileSync(join(directory, name, 'INSTALLATION_COMPLETE'), '');
  return { PLAYWRIGHT_BROWSERS_PATH: directory };
}
