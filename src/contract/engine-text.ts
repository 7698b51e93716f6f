import type { OfferedEngine } from './organization.ts';

/** Where a browser comes from, for people. */
const sources: Record<string, string> = {
  playwright: "Playwright's build",
  option: 'named by option',
  system: "the system's",
};

/** A browser of a machine, such as `firefox 153.8.0 (named by option), for Playwright 1.64.1`. */
export function engineText({ name, version, source, playwright_versions: versions }: OfferedEngine): string {
  const title = version === undefined ? name : `${name} ${version}`;
  const clients = versions.length > 0 ? `, for Playwright ${versions.join(' and ')}` : '';
  return `${title} (${sources[source] ?? source})${clients}`;
}
