import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test as base } from 'playwright-pool';

export { expect };

/** The path of a file beside the tests. */
export const beside = (name: string) => join(import.meta.dirname, name);

/** Waits until the outer test or another worker has made a file beside the tests. */
export const made = (name: string) => expect.poll(() => existsSync(beside(name)), { timeout: 50_000 }).toBe(true);

/** `held` notes in `held.jsonl` that the test holds its browser until the test ends. */
export const testOnDemand = base.extend<{ held: void }>({
  held: async ({ page, remote: { session } }, use) => {
    const note = (event: string) =>
      appendFileSync(beside('held.jsonl'), `${JSON.stringify({ session: session.id, event, pid: process.pid })}\n`);
    note('begin');
    await page.setContent('<p>x</p>');
    await use();
    note('end');
  },
});

/** The same for every test. */
export const test = testOnDemand.extend<{ always: void }>({
  always: [async ({ held }, use) => use(held), { auto: true }],
});
