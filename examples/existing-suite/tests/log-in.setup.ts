import { expect, test } from './test.ts';

test('log in', async ({ notes, page }) => {
  await notes.logIn('Ann');
  await expect(notes.heading).toHaveText('Notes of Ann');
  await page.context().storageState({ path: '.auth/ann.json' });
});
