/** The tag with the titles of the test that uses a session, and of its groups. */
export const testTag = 'playwright-pool.test';

/** The tag with the file of that test. */
export const fileTag = 'playwright-pool.file';

/** The tag with the index of the worker, as `TEST_PARALLEL_INDEX` has it. */
export const workerTag = 'playwright-pool.worker';

/** The tag that says to which test run a session belongs. Pools serve runs in turn. */
export const runTag = 'playwright-pool.run';

const longestTag = 256;

/**
 * Writes a text as the value of a tag, for example the title of a test. Tags take few characters: others become `=XX`
 * for each byte of their UTF-8, as in quoted-printable. Cuts texts that are too long.
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

function textOf(tag: string): string {
  try {
    return decodeURIComponent(tag.replaceAll('=', '%'));
  } catch {
    // Another client chose the tag.
    return tag;
  }
}

function escaped(character: string): string {
  const bytes = new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => `=${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('');
}
