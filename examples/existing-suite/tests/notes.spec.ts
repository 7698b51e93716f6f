import { expect, test } from './test.ts';

test('notes keep their order', async ({ notes }) => {
  await notes.add('milk');
  await notes.add('bread');
  await expect(notes.entries).toHaveText([/milk/, /bread/]);
});

test("the page has a German phone's settings and the saved login", async ({ notes, page, isMobile }) => {
  await expect(notes.heading).toHaveText('Notes of Ann');
  await notes.add('milk');
  await expect(notes.entries).toHaveText('März: milk');
  expect(isMobile).toBe(true);
  expect(page.viewportSize()?.width).toBeLessThan(500);
});
