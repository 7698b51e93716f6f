import { testTag } from '../../contract/lease-tags.ts';

/** The tag of a session on a machine with the id of its control plane. */
const ownerTag = 'playwright-pool.control-plane';
/** The tag with the id of the request that started the session. */
const launchTag = 'playwright-pool.launch';

export function ownerTags(owner: string, launch?: string): Record<string, string> {
  return { [ownerTag]: owner, ...(launch !== undefined && { [launchTag]: launch }) };
}

/** The tags of a leased session. The machine's live view shows the test. */
export function leaseTags(owner: string, tags: Record<string, string> | undefined): Record<string, string> {
  const test = tags?.[testTag];
  return { ...ownerTags(owner), ...(test !== undefined && { [testTag]: test }) };
}

/** The name of a profile on a machine, which nothing but one session uses. */
export function profileName(owner: string, launch: string): string {
  return `playwright-pool.${owner}.${launch}`;
}

export function launchOf(tags: Record<string, string> | undefined): string | undefined {
  return tags?.[launchTag];
}
