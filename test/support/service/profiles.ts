import { chromium, expect, type Page } from '@playwright/test';
import { ProfileDirectories } from '../../../src/service/profiles/profile-directories.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { openDatabase } from '../../../src/service/database/database.ts';
import { ProfileStore } from '../../../src/service/profiles/profiles.ts';
import { serve } from '../http/serve.ts';
import { test as base, type Call } from './service.ts';

/** The values that a site stores in a browser, each under `login`. */
type Kept = { cookie?: string; sessionCookie?: string; localStorage?: string; indexedDB?: string };

type Started = { session_id: string; cdp_ws_url: string; profile_version?: string };

export const test = base.extend<{ site: string }>({
  /** The address of a site that stores values for tests. */
  site: async ({}, use) => {
    await using server = await serve({ '/': '<title>Site</title>' });
    await use(`http://localhost:${server.port}/`);
  },
});

/** An empty store of profiles. */
export async function noProfiles(place: { outputPath: (name: string) => string }): Promise<ProfileDirectories> {
  const records = new ProfileStore(await openDatabase(), systemClock);
  return await ProfileDirectories.open({ directory: place.outputPath('profiles'), records, onSaved: () => {} });
}

/** The same value in every storage. */
export function everywhere(login: string): Kept {
  return { cookie: login, sessionCookie: login, localStorage: login, indexedDB: login };
}

/** Opens the site in a session, lets it store `login`, and disconnects. */
export async function logIn(session: { cdp_ws_url: string }, site: string, login: string): Promise<void> {
  await inPage(session, site, (page) => keep(page, login));
}

/** The values that the site finds in a session. */
export async function keptIn(session: { cdp_ws_url: string }, site: string): Promise<Kept> {
  return await inPage(session, site, kept);
}

/** Starts a session. */
export async function startSession(call: Call, body: object): Promise<Started> {
  const { status, body: session } = await call('POST', '/browsers', body);
  expect(status, JSON.stringify(session)).toBe(200);
  return session;
}

/** Ends a session and returns the result of saving its profile. */
export async function endSession(call: Call, { session_id }: { session_id: string }): Promise<unknown> {
  expect(await call('DELETE', `/browsers/${session_id}`)).toMatchObject({ status: 204 });
  return await profileSaveOf(call, { session_id });
}

/** How the profile of an ended session was saved. */
export async function profileSaveOf(call: Call, { session_id }: { session_id: string }): Promise<unknown> {
  return (await call('GET', `/browsers/${session_id}?include_deleted=true`)).body.profile_save;
}

/** Lets the site store `login` in the profile. */
export async function logInUnder(call: Call, name: string, site: string, login: string): Promise<void> {
  const session = await startSession(call, { profile: { name, save_changes: true } });
  await logIn(session, site, login);
  expect(await endSession(call, session)).toEqual({ status: 'saved' });
}

/** The values that the site finds in a page of a browser. */
export async function kept(page: Page): Promise<Kept> {
  return await page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const opening = indexedDB.open('site');
      opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('kept'));
      opening.addEventListener('success', () => resolve(opening.result));
      opening.addEventListener('error', () => reject(opening.error!));
    });
    const stored = await new Promise<unknown>((resolve) => {
      const getting = database.transaction('kept').objectStore('kept').get('login');
      getting.addEventListener('success', () => resolve(getting.result));
    });
    database.close();
    const cookies = Object.fromEntries(document.cookie.split('; ').map((cookie) => cookie.split('=')));
    const found = {
      cookie: cookies['login'],
      sessionCookie: cookies['session'],
      localStorage: localStorage.getItem('login') ?? undefined,
      indexedDB: stored as string | undefined,
    };
    return JSON.parse(JSON.stringify(found)) as Record<string, string>;
  });
}

async function keep(page: Page, login: string): Promise<void> {
  // Creates the database.
  await kept(page);
  await page.evaluate(async (login) => {
    document.cookie = `login=${login}; max-age=86400`;
    document.cookie = `session=${login}`;
    localStorage.setItem('login', login);
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open('site');
      opening.addEventListener('success', () => resolve(opening.result));
    });
    await new Promise((resolve) => {
      const transaction = database.transaction('kept', 'readwrite');
      transaction.objectStore('kept').put(login, 'login');
      transaction.addEventListener('complete', resolve);
    });
    database.close();
  }, login);
}

async function inPage<T>(
  { cdp_ws_url }: { cdp_ws_url: string },
  site: string,
  act: (page: Page) => Promise<T>,
): Promise<T> {
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  try {
    const page = await browser.contexts()[0]!.newPage();
    await page.goto(site);
    // The page stays open: without a page, full Chromium forgets session cookies.
    return await act(page);
  } finally {
    await browser.close();
  }
}
