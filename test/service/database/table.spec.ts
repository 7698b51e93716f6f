import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { boolean, integer, json, optional, sealed, text, time } from '../../../src/service/database/columns.ts';
import { openDatabase } from '../../../src/service/database/database.ts';
import { Secrets } from '../../../src/service/database/secrets.ts';
import { contains, Table, table } from '../../../src/service/database/table.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { expect, test } from '../../support/worker.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const apiKey = 'the-key-of-the-table-test';

test('adding a stored field takes one line in its table and one in the contract @long', async ({}, testInfo) => {
  test.setTimeout(120_000);
  const directory = dataDirectory(testInfo);
  const run = async (main: string | undefined, use: (call: ReturnType<typeof callerOf>) => Promise<void>) => {
    const args = ['serve', '--port', '0', '--data-dir', directory];
    await using cli = new CliProcess(args, {
      env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
      ...(main !== undefined && { main }),
    });
    await use(callerOf({ url: (await cli.firstLine()).replace('listening on ', ''), apiKey }));
  };
  await run(undefined, async (call) => {
    expect(await call('POST', '/profiles', { name: 'before' })).toMatchObject({ status: 201 });
  });

  const copy = testInfo.outputPath('copy');
  const configurations = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.browser.json'];
  for (const name of ['src', 'fixtures', 'scripts', ...configurations])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  addLine(join(copy, 'src/service/profiles/profiles.ts'), '  updated_at: time(),', '  note: optional(text()),');
  const contract = join(copy, 'src/contract/profiles.ts');
  addLine(contract, '  updated_at: timestamp.optional(),', '  note: z.string().optional(),');
  const body = 'z.strictObject({ name: name.optional()';
  replace(contract, body, `${body}, note: z.string().optional()`);
  execFileSync('npm', ['run', 'build'], { cwd: copy });

  const main = join(copy, 'dist/src/cli/main.js');
  await run(main, async (call) => {
    expect(await call('POST', '/profiles', { name: 'ann', note: 'kept' })).toMatchObject({
      status: 201,
      body: { name: 'ann', note: 'kept' },
    });
    const { status, body } = await call('GET', '/profiles/before');
    expect([status, body.note]).toEqual([200, undefined]);
  });
  await run(main, async (call) => {
    expect((await call('GET', '/profiles')).body).toMatchObject([{ name: 'ann', note: 'kept' }, { name: 'before' }]);
  });
  await run(undefined, async (call) => {
    const { status, body } = await call('GET', '/profiles/ann');
    expect([status, body.note]).toEqual([200, undefined]);
  });
});

test('stores columns of every type, and changes, lists, counts and deletes rows by filters', async () => {
  const database = await openDatabase();
  // An older one: its table lacks the optional columns.
  database.exec(
    'CREATE TABLE things (id TEXT PRIMARY KEY, size INTEGER NOT NULL, is_new INTEGER NOT NULL, parts TEXT NOT NULL) STRICT',
  );
  const description = table('things', {
    id: text(),
    size: integer(),
    isNew: boolean(),
    parts: json<string[]>(),
    seenAt: optional(time()),
    secret: optional(sealed(({ id }) => `thing ${id}`)),
  });
  const things = new Table(database, description, new Secrets());
  const first = things.insert({ id: 'a', size: 1, isNew: true, parts: ['x'], secret: 'hidden' });
  expect(first).toMatchObject({ id: 'a', size: 1, isNew: true, parts: ['x'], seenAt: undefined });
  expect(first.secret?.open()).toBe('hidden');
  expect(JSON.stringify([first, database.prepare('SELECT * FROM things').all()])).not.toContain('hidden');
  for (const [index, id] of ['b', 'c', 'd'].entries())
    things.insert({ id, size: index + 2, isNew: false, parts: [], seenAt: index });

  const ids = (filter: Parameters<typeof things.list>[0], options = {}) =>
    things.list(filter, options).map(({ id }) => id);
  expect(ids({ seenAt: null })).toEqual(['a']);
  expect(ids({ id: ['d', 'b', 'x'] })).toEqual(['b', 'd']);
  expect(ids({ size: { from: 3 } }, { order: 'size DESC' })).toEqual(['d', 'c']);
  expect(ids({ size: { below: 3 }, isNew: undefined })).toEqual(['a', 'b']);
  expect(ids({}, { search: contains('id'), query: 'C' })).toEqual(['c']);
  const page = things.page({}, { limit: 2, offset: 1 }, ({ id }) => id);
  expect(page).toEqual({ items: ['b', 'c'], hasMore: true, nextOffset: 3 });
  expect(things.count({ isNew: false })).toBe(3);

  expect(things.change({ id: 'b' }, { size: undefined, seenAt: undefined, isNew: true })).toBe(1);
  expect(things.find({ id: 'b' })).toMatchObject({ size: 2, seenAt: undefined, isNew: true });
  expect(things.change({ id: 'x' }, { size: 9 })).toBe(0);
  expect(things.find({ id: undefined })).toBeUndefined();
  expect(things.delete({ id: undefined })).toBe(0);
  expect(things.delete({ isNew: true })).toBe(2);
  expect(ids({})).toEqual(['c', 'd']);
  database.close();
});

test('makes the table of a description with its constraints and first rows, once', async () => {
  const database = await openDatabase();
  const parts = table('parts', { owner: text(), name: text(), size: optional(integer()) }).with({
    rules: ['PRIMARY KEY (owner, name)', 'FOREIGN KEY (owner) REFERENCES owners ON DELETE CASCADE'],
  });
  const owners = table('owners', { id: text() }).with({ once: "INSERT INTO owners VALUES ('first')" });
  const opened = () => ({ owners: new Table(database, owners), parts: new Table(database, parts) });
  const first = opened();
  first.parts.insert({ owner: 'first', name: 'a' });
  expect(() => first.parts.insert({ owner: 'first', name: 'a' })).toThrow(/UNIQUE/);
  expect(() => first.parts.insert({ owner: 'nobody', name: 'a' })).toThrow(/FOREIGN KEY/);
  expect(() => database.exec("INSERT INTO owners VALUES ('first')")).toThrow(/UNIQUE/);
  expect(() => database.exec("INSERT INTO parts VALUES ('first', NULL, 1)")).toThrow(/NOT NULL/);
  const again = opened();
  expect([again.owners.count({}), again.parts.count({})]).toEqual([1, 1]);
  again.owners.delete({ id: 'first' });
  expect(again.parts.count({})).toBe(0);
  database.close();
});

test('throws for a filter by an unknown column', async () => {
  const database = await openDatabase();
  const pools = new Table(database, table('pools', { id: text() }));
  const filter: object = { name: 'a' };
  expect(() => pools.delete(filter)).toThrow();
  database.close();
});

function addLine(file: string, after: string, line: string): void {
  replace(file, after, `${after}\n${line}`);
}

function replace(file: string, before: string, after: string): void {
  const source = readFileSync(file, 'utf8');
  expect(source.split(before), file).toHaveLength(2);
  writeFileSync(file, source.replace(before, after));
}
