import { existsSync, mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from '@playwright/test';
import { expectCode } from '../../support/service/session-files.ts';
import { applied, lines, test, told, treeOf } from '../../support/service/watches.ts';

test.use({ mostEntries: 4000 });
// As in watch.spec.ts.
if (existsSync('/dev/shm')) test.use({ disk: '/dev/shm' });

test('watches of one path share a tree, and report changes since their start @long', async ({ watch, read, place }) => {
  const user = path.join(place.root, 'home/user');
  // Two trees of this size would exceed the limit.
  for (let index = 0; index < 2400; index += 1) writeFileSync(path.join(user, String(index)), '');
  const first = await watch('/home/user');
  const unread = await watch('/home/user/');
  // A directory, because a new file can also be reported as written.
  mkdirSync(path.join(user, 'early'));
  const late = await watch('/home/user');
  const [firstReader, lateReader] = [read(first), read(late)];
  mkdirSync(path.join(user, 'a'));
  await expect.poll(() => told(firstReader.events)).toEqual(['CREATE /home/user/early/', 'CREATE /home/user/a/']);
  await expect.poll(() => told(lateReader.events)).toEqual(['CREATE /home/user/a/']);
  late.stop();
  first.stop();
  await Promise.all([firstReader.ended, lateReader.ended]);
  const { events } = read(unread);
  await expect.poll(() => told(events)).toEqual(['CREATE /home/user/early/', 'CREATE /home/user/a/']);
});

test("a watch that nobody reads doesn't delay others, and gets its changes later", async ({ watch, read, place }) => {
  const at = (name: string) => path.join(place.root, 'home/user', name);
  for (const name of ['gone', 'written']) writeFileSync(at(name), 'x');
  const start = treeOf(path.join(place.root, 'home'), '/home');
  const [unread, other] = [await watch('/home', { recursive: true }), await watch('/home', { recursive: true })];
  const { events: others } = read(other);
  for (let index = 0; index < 1500; index += 1) writeFileSync(at(String(index)), '');
  await expect.poll(() => others.length).toBe(1500);
  unlinkSync(at('gone'));
  mkdirSync(at('directory'));
  writeFileSync(at('directory/a'), 'a');
  await appendFile(at('written'), 'y');
  renameSync(at('0'), at('renamed'));
  for (let index = 1; index < 1500; index += 1) unlinkSync(at(String(index)));
  const end = treeOf(path.join(place.root, 'home'), '/home');
  await expect.poll(() => lines(applied(start, others, end))).toEqual(lines(end));
  const { events } = read(unread);
  await expect.poll(() => lines(applied(start, events, end))).toEqual(lines(end));
  // The first 1500 changes, and then the difference only.
  expect(events.length).toBeLessThan(3100);
});

test.describe('with a low limit', () => {
  test.use({ mostEntries: 400 });

  test('limits the number of watched files and directories in a session', async ({ watch, read, place }) => {
    const user = path.join(place.root, 'home/user');
    for (let index = 0; index < 240; index += 1) writeFileSync(path.join(user, String(index)), '');
    const first = await watch('/home/user');
    await expectCode(watch('/home', { recursive: true }), 'capacity_exhausted', 'watch a smaller directory');
    first.stop();
    const second = await watch('/home', { recursive: true });
    const { ended } = read(second);
    for (let index = 240; index < 401; index += 1) writeFileSync(path.join(user, String(index)), '');
    await expect(ended).rejects.toMatchObject({ code: 'capacity_exhausted' });
    const { events } = read(await watch('/home'));
    writeFileSync(path.join(place.root, 'home/a'), '');
    await expect.poll(() => told(events)).toEqual(['CREATE /home/a']);
  });
});
