/** The tag that says which test uses a session. */
export const testTag = 'playwright-pool.test';

/** The tag that says to which test run a session belongs. Pools serve runs in turn. */
export const runTag = 'playwright-pool.run';

const longestTag = 256;

/**
 * Writes the title of a test as the value of a tag. Tags take few characters: others become `=XX` for each byte of
 * their UTF-8, as in quoted-printable. Cuts titles that are too long.
 */
export function testTagOf(title: string): string {
  let tag = '';
  for (const character of title) {
    const written = /[A-Za-z0-9 _.:/+@-]/.test(character) ? character : escaped(character);
    if (tag.length + written.length > longestTag) break;
    tag += written;
  }
  return tag;
}

/** The title of the test that uses a session with these tags. */
export function testTitleOf(tags: Record<string, string> | undefined): string | undefined {
  const tag = tags?.[testTag];
  try {
    return tag && decodeURIComponent(tag.replaceAll('=', '%'));
  } catch {
    // Another client chose the tag.
    return tag;
  }
}

function escaped(character: string): string {
  const bytes = new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => `=${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('');
}
