import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { BrowserType } from '@playwright/test';
import { inPath } from '../../../src/service/process/children/executables.ts';

const require = createRequire(import.meta.url);

/** The system's Firefox, and a `playwright-core` that understands it. */
export type FirefoxHere = { executable: string; core: string; version: string; client: BrowserType };

/** Debian's `firefox-esr` is older than the newest Playwright wants, so the tests take an older one. */
const alias = 'playwright-core-for-firefox-esr';

/** `undefined` if this machine doesn't have both. */
export const firefoxHere = find();

export const noFirefox = `needs firefox-esr, and a playwright-core that understands it: ${alias}, or its directory in PLAYWRIGHT_POOL_TEST_CORE`;

function find(): FirefoxHere | undefined {
  const executable = inPath('firefox-esr', process.env).find((file) => existsSync(file));
  const core = process.env['PLAYWRIGHT_POOL_TEST_CORE'] ?? installed();
  if (executable === undefined || core === undefined) return undefined;
  const { version } = require(`${core}/package.json`) as { version: string };
  const { firefox: client } = require(core) as { firefox: BrowserType };
  return { executable, core, version, client };
}

function installed(): string | undefined {
  try {
    return dirname(require.resolve(`${alias}/package.json`));
  } catch {
    return undefined;
  }
}
