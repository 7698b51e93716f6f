import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { expect } from '@playwright/test';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { Encoder } from '../../../src/service/replays/encoder.ts';
import { recorder, Replays, replaysTable } from '../../../src/service/replays/replays.ts';
import { LocalLauncher } from '../../../src/service/sessions/local/local-launcher.ts';
import { Table } from '../../../src/service/database/table.ts';
import { page, settings, test as base } from '../../support/service/browser-sessions.ts';
import { TestClock } from '../../support/service/clock.ts';
import { commandLine, expectNoProcessWith, processesWith, sendSignal } from '../../support/processes/processes.ts';
import { noProfiles } from '../../support/service/profiles.ts';
import { openTestDatabase } from '../../support/runs/project.ts';

const test = base.extend<{ clock: TestClock }>({ clock: async ({}, use) => await use(new TestClock()) });

const userData = (session: LocalSession) => path.join(path.dirname(session.root), 'user-data');

/** The main process of a session's Chromium proper, without the script that may have started it. */
function browserProcess(session: LocalSession): number {
  for (const pid of processesWith(userData(session))) {
    const [program, ...switches] = commandLine(pid);
    if (program && !program.endsWith('/sh') && !switches.some((part) => part.startsWith('--type='))) return pid;
  }
  throw new Error('the session has no Chromium');
}

test.describe('one session', () => {
  test('a session has an id, a token, its usual directories and a browser without pages, and opens pages', async ({
    session,
    sessions,
    connect,
    site,
  }) => {
    const { id } = session;
    const { token } = session.lease;
    expect(id).toMatch(/^[a-z0-9]{24}$/);
    expect(token.length).toBeGreaterThan(40);
    const start = token.slice(0, -1);
    for (const wrong of ['', id, `${id}.`, start, `${token}x`, `${start}é`, `${id}.${'a'.repeat(32)}`])
      expect(sessions.byToken(wrong), 'a token that resembles its own').toBeUndefined();
    expect(session.alive).toBe(true);
    expect(session.endedAt).toBeUndefined();
    for (const directory of ['tmp', 'home/user'])
      expect((await stat(path.join(session.root, directory))).isDirectory()).toBe(true);
    const browser = await connect(session);
    expect(browser.contexts().flatMap((context) => context.pages())).toEqual([]);
    await session.ping();
    await session.openPage(await site(page('<title>Start</title>')));
    await expect.poll(() => browser.contexts()[0]!.pages().length).toBe(1);
    await expect(browser.contexts()[0]!.pages()[0]!).toHaveTitle('Start');
  });

  test('a session ends once, and leaves no process and no file', async ({ session, sessions, clock }, testInfo) => {
    await session.openPage('about:blank');
    clock.advance(5000);
    session.lease.name = 'mine';
    const conflict = () => sessions.nameConflict(session.settings.projectId, 'mine');
    expect(conflict()).toMatchObject({ code: 'conflict' });
    const ends = [session.end(), session.end()];
    // While its processes end, another session may take the name.
    expect(conflict()).toBeUndefined();
    await Promise.all(ends);
    await session.ended;
    expect(session.alive).toBe(false);
    // Work that reads the signal only now must not go on.
    expect(session.lease.signal.aborted).toBe(true);
    expect(session.endedAt).toBe(session.createdAt + 5000);
    expect(await readdir(testInfo.outputPath('sessions'))).toEqual([]);
    await expectNoProcessWith(userData(session));
    expect(() => sessions.get(session.id)).toThrow(`there is no browser session ${session.id}`);
    expect(sessions.byToken(session.lease.token)).toBeUndefined();
    expect(sessions.list()).toEqual([session]);
    await expect(session.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await session.end();
  });

  test('a session ends when its Chromium is killed', async ({ session, connect }) => {
    const browser = await connect(session);
    const disconnected = new Promise((resolve) => browser.once('disconnected', resolve));
    process.kill(browserProcess(session), 'SIGKILL');
    await session.ended;
    await disconnected;
    expect(session.alive).toBe(false);
    await expectNoProcessWith(userData(session));
    await expect(readdir(session.root)).rejects.toThrow('ENOENT');
  });

  test('a session whose Chromium is frozen does not answer a ping, and can be ended @long', async ({ session }) => {
    sendSignal(processesWith(userData(session)), 'SIGSTOP');
    const startedAt = performance.now();
    await expect(session.ping()).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(session.alive).toBe(true);
    await session.end();
    await expectNoProcessWith(userData(session));
  });

  test('a new token closes the sockets opened with the old token, stops the old address and starts no recording of the old holder', async ({
    session,
    sessions,
    clock,
    connectRaw,
    addressOf,
  }, testInfo) => {
    const [oldToken, oldAddress] = [session.lease.token, addressOf(session)];
    const client = await connectRaw(oldAddress);
    const records = new Table(await openTestDatabase(), replaysTable);
    const directory = testInfo.outputPath('replays');
    const encoder = new Encoder({ directory: testInfo.outputPath(), chromium: {}, environment: process.env, clock });
    const record = recorder({ encoder, format: undefined, clock });
    const replays = await Replays.open({ directory, records, record, clock });
    const starting = replays.start(session, { framerate: 10, record_audio: false });
    session.changeHands();
    await expect(starting).rejects.toMatchObject({ code: 'conflict' });
    expect([records.list(), await readdir(directory)]).toEqual([[], []]);
    await client.closed;
    expect(session.lease.token).not.toBe(oldToken);
    expect(sessions.byToken(oldToken)).toBeUndefined();
    expect(sessions.byToken(session.lease.token)).toBe(session);
    await expect(connectRaw(oldAddress)).rejects.toThrow('401');
    await (await connectRaw(addressOf(session))).send('Browser.getVersion');
  });

  test('the idle timeout can be restarted and stopped, and counts from the last activity, such as a frame', async ({
    session,
    clock,
    connectRaw,
    addressOf,
  }) => {
    session.watchIdle(60);
    clock.advance(50_000);
    session.watchIdle(30);
    clock.advance(29_999);
    expect(session.alive).toBe(true);
    session.watchIdle(undefined);
    clock.advance(3_600_000);
    expect(session.alive).toBe(true);
    await session.ping();

    session.watchIdle(60);
    clock.advance(59_999);
    expect(session.alive).toBe(true);
    session.touch();
    clock.advance(50_000);
    expect(session.alive).toBe(true);
    const client = await connectRaw(addressOf(session));
    await client.send('Browser.getVersion');
    clock.advance(59_999);
    expect(session.alive).toBe(true);
    clock.advance(1);
    expect(session.alive).toBe(false);
    await client.closed;
    await session.ended;
  });
});

test.describe('all sessions', () => {
  test('eight sessions start at once with own browsers, found by id, newest first @long', async ({ sessions }) => {
    const created = await Promise.all(Array.from({ length: 8 }, () => sessions.create(settings)));
    expect(new Set(created.map(({ browser }) => browser.chromium.pid)).size).toBe(8);
    await Promise.all(created.map((session) => session.ping()));
    expect(sessions.list()).toHaveLength(8);
    const last = await sessions.create(settings);
    const [newest, first] = sessions.list();
    expect(newest).toBe(last);
    expect(sessions.get(last.id)).toBe(last);
    expect(sessions.get(first!.id)).toBe(first);
    expect(() => sessions.get('checkout')).toThrow(expect.objectContaining({ code: 'not_found' }));
    await first!.end();
    expect(() => sessions.get(first!.id)).toThrow(expect.objectContaining({ code: 'not_found' }));
    expect(sessions.list().slice(0, 2)).toEqual([last, first]);
    await sessions.close();
    for (const session of created) await expectNoProcessWith(userData(session));
  });

  test('an aborted start of a session leaves no files and no processes, and the end of all sessions waits for it', async ({
    sessions,
  }, testInfo) => {
    const abort = new AbortController();
    const directory = testInfo.outputPath('sessions');
    const created = sessions.create(settings, abort.signal);
    await expect.poll(() => processesWith(directory).length, { intervals: [1] }).toBeGreaterThan(0);
    abort.abort(new Error('the caller hung up'));
    await expect(created).rejects.toThrow('the caller hung up');
    expect(await readdir(directory)).toEqual([]);
    await expectNoProcessWith(directory);
    await expect(sessions.create(settings, abort.signal)).rejects.toThrow('the caller hung up');

    let isOver = false;
    void sessions.create(settings).catch(() => (isOver = true));
    await sessions.close();
    expect(isOver).toBe(true);
  });

  test('the end of all sessions includes those that are starting', async ({ sessions }, testInfo) => {
    const session = await sessions.create(settings);
    const starting = sessions.create(settings);
    const refused = expect(starting).rejects.toMatchObject({ code: 'unavailable' });
    await sessions.close();
    await refused;
    expect(session.alive).toBe(false);
    expect(await readdir(testInfo.outputPath('sessions'))).toEqual([]);
    await expect(sessions.create(settings)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a session can be headful if the environment names a display', async ({ clock }, testInfo) => {
    test.skip(process.platform !== 'linux', 'there is always a display');
    const profiles = await noProfiles(testInfo);
    const directory = testInfo.outputPath('none');
    const hasDisplay = (environment: Record<string, string>) =>
      new LocalLauncher({ clock, directory, profiles, chromium: {}, environment }).hasDisplay;
    const environments = [{}, { DISPLAY: ':0' }, { WAYLAND_DISPLAY: 'wayland-0' }] as Record<string, string>[];
    expect(environments.map(hasDisplay)).toEqual([false, true, true]);
  });

  test.describe('that cannot start', () => {
    test.use({ chromiumSettings: { executable: '/bin/false' } });

    test("a session whose Chromium can't start leaves no files and no processes", async ({ sessions }, testInfo) => {
      await expect(sessions.create(settings)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await readdir(testInfo.outputPath('sessions'))).toEqual([]);
    });
  });
});
