import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserType } from '@playwright/test';
import { inPath } from '../../../src/service/process/children/executables.ts';

const require = createRequire(import.meta.url);

/** The system's Firefox, and a `playwright-core` that understands it. */
export type FirefoxHere = { executable: string; core: string; version: string; client: BrowserType };

/** `undefined` if this machine doesn't have both. Debian's `firefox-esr` needs an older Playwright than the newest. */
export const firefoxHere = find();

export const noFirefox =
  'needs firefox-esr, and in PLAYWRIGHT_POOL_TEST_CORE the playwright-core of an installed @playwright/test that understands it';

function find(): FirefoxHere | undefined {
  const executable = inPath('firefox-esr', process.env).find((file) => existsSync(file));
  const core = process.env['PLAYWRIGHT_POOL_TEST_CORE'];
  if (executable === undefined || core === undefined) return undefined;
  const { version } = require(`${core}/package.json`) as { version: string };
  const { firefox: client } = require(core) as { firefox: BrowserType };
  return { executable, core, version, client };
}
