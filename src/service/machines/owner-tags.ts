import { fileTag, testTag } from '../../contract/lease-tags.ts';

/** The tag with the id of the control plane that owns the session. */
const ownerTag = 'playwright-pool.control-plane';
/** The tag with the id of the launch that started the session. */
const launchTag = 'playwright-pool.launch';

/** The tags by which a control plane finds its sessions on a machine, or the session of one launch. */
export function ownerTags(owner: string, launch?: string): Record<string, string> {
  return { [ownerTag]: owner, ...(launch !== undefined && { [launchTag]: launch }) };
}

/** The tags of a leased session. They include the test, because the machine's live view shows it. */
export function leaseTags(owner: string, tags: Record<string, string> | undefined): Record<string, string> {
  const shown = Object.entries(tags ?? {}).filter(([name]) => name === testTag || name === fileTag);
  return { ...ownerTags(owner), ...Object.fromEntries(shown) };
}

/** The name of a session's profile on its machine. No other session uses this profile. */
export function profileName(owner: string, launch: string): string {
  return `playwright-pool.${owner}.${launch}`;
}

/** Whether a control plane started the session with these tags. */
export function isOwnedBy(owner: string, tags: Record<string, string> | undefined): boolean {
  return tags?.[ownerTag] === owner;
}

export function launchOf(tags: Record<string, string> | undefined): string | undefined {
  return tags?.[launchTag];
}
