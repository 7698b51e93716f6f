import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Client } from '../client/index.ts';
import type { Examined, Finding } from './finding.ts';

/** The parts of `@playwright/test` that the checks use. */
type Chromium = {
  connectOverCDP(url: string, options: { timeout: number }): Promise<Browser>;
  connect(url: string, options: { timeout: number }): Promise<Browser>;
};
type Browser = {
  newPage(): Promise<{ setContent(html: string): Promise<void>; evaluate(expression: string): Promise<string> }>;
  version(): string;
  close(): Promise<void>;
};
type Session = Awaited<ReturnType<Client['browsers']['create']>>;

const connectTimeout = 20_000;
const timeZone = 'Intl.DateTimeFormat().resolvedOptions().timeZone';

/**
 * Opens a page in the session over CDP and over Playwright's own protocol, with the Playwright of the tests. `version` is
 * the browser's, if a page opened.
 */
export async function checkTransports(
  session: Session,
  { directory }: Examined,
): Promise<{ version?: string; findings: Finding[] }> {
  const chromium = chromiumOf(directory);
  // Another check reports a missing Playwright.
  if (!chromium) return { findings: [] };
  const { cdp_ws_url: cdpURL, playwright_ws_url: playwrightURL, playwright_versions: versions = [] } = session;
  const unreachable = `check that ${new URL(cdpURL).host} is the service's address for this machine (serve --public-url), and that proxies on the way forward WebSockets`;
  const { version, zone, ...overCDP } = await checkTransport('CDP', unreachable, () =>
    chromium.connectOverCDP(cdpURL, { timeout: connectTimeout }),
  );
  const ofBrowser = version === undefined ? {} : { version };
  const found = [overCDP, ...checkZone(zone)];
  const check = "Playwright's protocol";
  if (playwrightURL === undefined)
    return {
      ...ofBrowser,
      findings: [...found, { check, level: 'ok', message: 'the service offers CDP only, so tests use that' }],
    };
  const otherVersion = `the service has Playwright ${versions.join(', ')}: use one of these versions in the tests, or start it with --playwright-core. Tests with transport: 'auto' use CDP`;
  const {
    version: _,
    zone: __,
    ...overPlaywright
  } = await checkTransport(check, otherVersion, () => chromium.connect(playwrightURL, { timeout: connectTimeout }));
  // CDP alone is enough for tests.
  const enough: Finding = overPlaywright.level === 'failure' ? { ...overPlaywright, level: 'warning' } : overPlaywright;
  return { ...ofBrowser, findings: [...found, enough] };
}

async function checkTransport(
  check: string,
  fix: string,
  connect: () => Promise<Browser>,
): Promise<Finding & { version?: string; zone?: string }> {
  const started = performance.now();
  let zone: string | undefined;
  try {
    const browser = await connect();
    try {
      const page = await browser.newPage();
      await page.setContent('<title>doctor</title>');
      zone = await page.evaluate(timeZone);
    } finally {
      await browser.close();
    }
    const message = `a page opens in ${Math.round(performance.now() - started)} ms`;
    return { check, level: 'ok', message, version: browser.version(), zone };
  } catch (error) {
    return { check, level: 'failure', message: `no page opens: ${withoutToken(error)}`, fix };
  }
}

function checkZone(zone: string | undefined): Finding[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone === undefined || zone === own) return [];
  const message = `browsers have the time zone ${zone}, and this machine has ${own}`;
  const fix = 'set timezoneId in the config if tests depend on it';
  return [{ check: 'time zone', level: 'warning', message, fix }];
}

function chromiumOf(directory: string): Chromium | undefined {
  try {
    const required = createRequire(join(directory, 'package.json'));
    return (required('@playwright/test') as { chromium: Chromium }).chromium;
  } catch {
    return undefined;
  }
}

/** The first line of Playwright's message, without the token in the URL. A log follows in the other lines. */
function withoutToken(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n', 1)[0] ?? '').replaceAll(/jwt=[^\s&]+/g, 'jwt=…');
}
