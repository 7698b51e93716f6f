import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storageOrigins } from '../archive/index.ts';
import { startLocalChromium, type LocalChromium } from '../service/profiles/local-chromium.ts';
import { CommandError } from './command-error.ts';
import type { ShowProgress } from './progress.ts';

/** A value in a profile. `attributes` are compared, too. They contain no secret. */
export type Item = { value: string; attributes?: string };
export type Items = Map<string, Item>;

/** The parts of a user-data directory that `profiles diff` compares. Each value has a unique key that people can read. */
export type UserData = { cookies: Items; local_storage: Items; preferences: Items; extensions: Items };

type Settings = Omit<Parameters<typeof startLocalChromium>[0], 'userDataDirectory' | 'headless'>;
type Json = { [name: string]: unknown };

/** Reads a user-data directory. It must be a copy, because Chromium changes it. */
export async function readUserData(directory: string, show: ShowProgress, settings: Settings): Promise<UserData> {
  const profile = join(directory, 'Default');
  // Read these files first, because Chromium rewrites them when it starts.
  const preferences = [
    await readJSON(join(profile, 'Preferences')),
    await readJSON(join(profile, 'Secure Preferences')),
  ];
  const extensions = await readExtensions(profile, preferences);
  const origins = await storageOrigins(directory);
  show('starting Chromium');
  const chromium = await startLocalChromium({ ...settings, userDataDirectory: directory, headless: true });
  try {
    return {
      cookies: await readCookies(chromium),
      local_storage: await readLocalStorage(chromium, origins, show, settings.signal),
      preferences: new Map(preferences.flatMap((file) => flattened(file))),
      extensions,
    };
  } finally {
    await chromium.kill();
  }
}

async function readCookies({ cdp }: LocalChromium): Promise<Items> {
  const { cookies } = await cdp.send('Storage.getCookies', {});
  return new Map(
    cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite, partitionKey }) => {
      const attributes = [
        expires < 0 ? 'session' : `expires ${new Date(expires * 1000).toISOString()}`,
        httpOnly && 'HttpOnly',
        secure && 'Secure',
        sameSite && `SameSite=${sameSite}`,
      ];
      const key = `${name} ${domain}${path}${partitionKey ? ` in ${partitionKey.topLevelSite}` : ''}`;
      return [key, { value, attributes: attributes.filter(Boolean).join(', ') }];
    }),
  );
}

/**
 * Reads the local storage of each origin in a page of this origin. Answers the page's requests with an empty document, so
 * that no site gets a request.
 */
async function readLocalStorage(
  { cdp }: LocalChromium,
  origins: string[],
  show: ShowProgress,
  signal: AbortSignal,
): Promise<Items> {
  const items: Items = new Map();
  if (origins.length === 0) return items;
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  const page = { sessionId };
  cdp.onEvent(({ method, params }) => {
    if (method !== 'Fetch.requestPaused') return;
    const responseHeaders = [{ name: 'Content-Type', value: 'text/html' }];
    const answer = { requestId: params.requestId, responseCode: 200, responseHeaders };
    // Ignore errors: the page may have canceled the request.
    cdp.send('Fetch.fulfillRequest', answer, page).catch(() => {});
  });
  await cdp.send('Network.enable', {}, page);
  await cdp.send('Network.setBypassServiceWorker', { bypass: true }, page);
  await cdp.send('Fetch.enable', {}, page);
  for (const [index, origin] of origins.entries()) {
    signal.throwIfAborted();
    show(`local storage of ${origin}`, index / origins.length);
    const { errorText } = await cdp.send('Page.navigate', { url: `${origin}/` }, page);
    if (errorText) throw new CommandError(`Chromium could not read the local storage of ${origin}: ${errorText}`);
    const read = { expression: '[location.origin, Object.entries(localStorage)]', returnByValue: true };
    const { result } = await cdp.send('Runtime.evaluate', read, page);
    // Chromium may have upgraded an http origin to https.
    const [shownOrigin, entries] = result.value as [string, [string, string][]];
    if (shownOrigin === origin) for (const [name, value] of entries) items.set(`${origin} ${name}`, { value });
  }
  return items;
}

/**
 * All values of nested preferences by their paths. Leaves out extensions, which are compared separately, and signatures,
 * which only depend on other values.
 */
function flattened(value: unknown, path = ''): [string, Item][] {
  if (path === 'extensions.settings' || path === 'protection') return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[path, { value: JSON.stringify(value) }]];
  return Object.entries(value).flatMap(([name, inner]) => flattened(inner, path === '' ? name : `${path}.${name}`));
}

/** Reads the extensions. Installed ones have a directory for each version. Unpacked ones are only in the preferences. */
async function readExtensions(profile: string, preferences: Json[]): Promise<Items> {
  const items: Items = new Map();
  for (const { extensions } of preferences) {
    const settings =
      (extensions as { settings?: Record<string, { location?: number; path?: string }> } | undefined)?.settings ?? {};
    for (const [id, { location, path }] of Object.entries(settings)) {
      if (location === unpacked && path !== undefined) items.set(id, { value: `unpacked at ${path}` });
    }
  }
  const directory = join(profile, 'Extensions');
  for (const id of await namesIn(directory)) {
    if (!/^[a-p]{32}$/.test(id)) continue;
    const versions = await Promise.all(
      (await namesIn(join(directory, id))).map((version) => readJSON(join(directory, id, version, 'manifest.json'))),
    );
    const texts = versions.map(({ name, version }) => `${String(name)} ${String(version)}`);
    if (texts.length > 0) items.set(id, { value: texts.toSorted().join(', ') });
  }
  return items;
}

/** Chromium's number for the location of unpacked extensions. */
const unpacked = 4;

async function namesIn(directory: string): Promise<string[]> {
  return await readdir(directory).catch((): string[] => []);
}

/** Reads a JSON file. Returns an empty object if there is no file. */
async function readJSON(file: string): Promise<Json> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch {
    return {};
  }
  try {
    // Some extensions' manifests begin with a byte order mark.
    return JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch (error) {
    throw new CommandError(`${file} is not JSON: the profile is damaged`, 1, { cause: error });
  }
}
