/** The tag with the title of the test that uses a session, after the titles of its `describe` groups. */
export const testTag = 'playwright-pool.test';

/** The tag with the file of that test. */
export const fileTag = 'playwright-pool.file';

/** The tag with the index of the Playwright worker, from `TEST_PARALLEL_INDEX`. */
export const workerTag = 'playwright-pool.worker';

/** The tag with the id of the test run that uses a session. Pools serve runs in turn. */
export const runTag = 'playwright-pool.run';

/** The tag with the client of a lease by URL, from its header `User-Agent`. */
export const clientTag = 'playwright-pool.client';

const longestTag = 256;

/**
 * Encodes a text, for example the title of a test, as the value of a tag. Tags allow few characters: others become `=XX`
 * for each byte in UTF-8. Cuts texts that are too long.
 */
export function testTagOf(text: string): string {
  let tag = '';
  for (const character of text) {
    const written = /[A-Za-z0-9 _.:/+@-]/.test(character) ? character : escaped(character);
    if (tag.length + written.length > longestTag) break;
    tag += written;
  }
  return tag;
}

/** The test that uses a session with these tags: its file, if a tag says it, and its title. */
export function testTitleOf(tags: Record<string, string> | undefined): string | undefined {
  const parts = [tags?.[fileTag], tags?.[testTag]].filter((tag) => tag !== undefined);
  return parts.length === 0 ? undefined : parts.map(textOf).join(' › ');
}

/** The client of a lease by URL with these tags, such as `Playwright/1.65.1 node/20.20`. */
export function clientOf(tags: Record<string, string> | undefined): string | undefined {
  const tag = tags?.[clientTag];
  return tag === undefined ? undefined : textOf(tag);
}

function textOf(tag: string): string {
  try {
    return decodeURIComponent(tag.replaceAll('=', '%'));
  } catch {
    // The tag isn't encoded: another client set it.
    return tag;
  }
}

function escaped(character: string): string {
  const bytes = new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => `=${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('');
}
