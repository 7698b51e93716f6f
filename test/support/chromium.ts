import { execFileSync } from 'node:child_process';

/** A Chromium of this machine for stock Playwright, to which a test compares. */
export function systemChromium(): string {
  const named = process.env['PLAYWRIGHT_POOL_CHROMIUM'];
  return named ?? execFileSync('sh', ['-c', 'command -v chromium-headless-shell || command -v chromium'], { encoding: 'utf8' }).trim();
}
