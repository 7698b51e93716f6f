import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium, expect, type BrowserContext, type Page } from '@playwright/test';
import { archivedStorageOrigins, pack, storageOrigins } from '../../src/archive/index.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { findChromium } from '../../src/service/chromium/find-chromium.ts';
import { test } from '../support/worker.ts';

const origins = ['http://localhost:1234', 'https://a.test', 'https://example.com'];
const sqlite = 'DomStorageSqlite,DomStorageSqliteNewDatabases,IdbSqliteBackingStore';

for (const [format, args] of [
  ['LevelDB', []],
  ['SQLite', [`--enable-features=${sqlite}`]],
] as const) {
  test(`finds origins that have local storage or IndexedDB in ${format}, in a directory and in its archive${format === 'SQLite' ? ' @long' : ''}`, async () => {
    const { directory, context, page } = await withLocalStorage(outputPath('user-data'), [...args]);
    for (const origin of origins.slice(1)) {
      await page.goto(origin);
      await page.evaluate(() => new Promise((resolve) => indexedDB.open('kept').addEventListener('success', resolve)));
    }
    await page.goto('https://nothing.test');
    // Chromium writes LevelDB some seconds later, and a browser that ends may lose it. It locks SQLite, and writes it
    // when it ends.
    if (format === 'LevelDB') {
      await expect.poll(() => storageOrigins(directory).catch(() => []), { timeout: 30_000 }).toEqual(origins);
    }
    await context.close();
    expect(await storageOrigins(directory)).toEqual(origins);
    expect(await archivedStorageOrigins(pack(directory), AbortSignal.timeout(20_000))).toEqual(origins);
  });
}

test('finds no origins in a directory without storage, even if names in it look similar', async () => {
  const directory = outputPath('user-data');
  expect(await storageOrigins(directory)).toEqual([]);
  for (const name of [
    'chrome-extension_abc_0.indexeddb.leveldb',
    'https_A.test_0.indexeddb.leveldb',
    'https_b.test_8443.indexeddb.blob',
  ]) {
    await mkdir(path.join(directory, 'Default', 'IndexedDB', name), { recursive: true });
  }
  await mkdir(path.join(directory, 'Default', 'Local Storage', 'leveldb'), { recursive: true });
  await writeFile(path.join(directory, 'Default', 'Local Storage', 'leveldb', '000003.ldb'), 'no table');
  expect(await storageOrigins(directory)).toEqual(['https://b.test:8443']);
});

test('finds origins in a table file of LevelDB', async () => {
  const directory = path.join(outputPath('user-data'), 'Default', 'Local Storage', 'leveldb');
  await mkdir(directory, { recursive: true });
  const plain = blockOf(entry(0, 'META:https://a.test'), entry('META:https://'.length, 'b.test'));
  // As one literal of Snappy.
  const keys = Buffer.concat([Buffer.of(plain.length, (plain.length - 1) << 2), plain]);
  const index = blockOf(entry(0, 'z', Buffer.of(0, keys.length)));
  const footer = Buffer.concat([Buffer.of(0, 0, keys.length + 5, index.length)], 48);
  const table = Buffer.concat([keys, Buffer.of(1, 0, 0, 0, 0), index, Buffer.alloc(5), footer]);
  await writeFile(path.join(directory, '000003.ldb'), table);
  expect(await storageOrigins(outputPath('user-data'))).toEqual(['https://a.test', 'https://b.test']);
});

/** An entry of a block. Its key begins with `shared` bytes of the key before it. */
function entry(shared: number, rest: string, value = Buffer.of()): Buffer {
  return Buffer.concat([Buffer.of(shared, rest.length, value.length), Buffer.from(rest), value]);
}

function blockOf(...entries: Buffer[]): Buffer {
  return Buffer.concat([...entries, Buffer.of(0, 0, 0, 0, 1, 0, 0, 0)]);
}

/**
 * Stores an item of the first origin in a new Chromium. Some Chromiums whose SQLite storage is switched on keep it in
 * memory only: such a one is replaced, at most four times.
 */
async function withLocalStorage(
  parent: string,
  args: string[],
): Promise<{ directory: string; context: BrowserContext; page: Page }> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = path.join(parent, String(attempt));
    const context = await chromium.launchPersistentContext(directory, {
      executablePath: await findChromium(true, undefined, process.env),
      chromiumSandbox: process.getuid?.() !== 0,
      args,
    });
    const page = await context.newPage();
    await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
    await page.goto(origins[0]!);
    await page.evaluate(() => localStorage.setItem('link', 'https://elsewhere.test/'));
    const isOnDisk = () =>
      ['Local Storage', 'LocalStorage'].some((name) => existsSync(path.join(directory, 'Default', name)));
    const waited = expect.poll(isOnDisk, { timeout: attempt === 5 ? 15_000 : 3000 }).toBe(true);
    if (
      await waited.then(
        () => true,
        () => attempt === 5,
      )
    )
      return { directory, context, page };
    await context.close();
  }
}
