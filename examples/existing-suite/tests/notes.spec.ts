import { expect, test } from './test.ts';

test('notes are kept in the order in which they were written', async ({ notes }) => {
  await notes.add('milk');
  await notes.add('bread');
  await expect(notes.entries).toHaveText([/milk/, /bread/]);
});

test('the page is that of a German phone, and of who has logged in', async ({ notes, page, isMobile }) => {
  await expect(notes.heading).toHaveText('Notes of Ann');
  await notes.add('milk');
  await expect(notes.entries).toHaveText('März: milk');
  expect(isMobile).toBe(true);
  expect(page.viewportSize()?.width).toBeLessThan(500);
});
