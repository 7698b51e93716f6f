/** The settings of a session that not every service supports. */
type Needs = { profile?: unknown; tunnel?: boolean | undefined; extraSwitches?: readonly string[] | undefined };

/**
 * Whether a session can run on the service for overflow, which may be the hosted one: that takes no copy of a profile, has
 * no tunnel, and starts Chromium with its own switches.
 */
export function canOverflow({ profile, tunnel, extraSwitches = [] }: Needs): boolean {
  return !profile && !tunnel && extraSwitches.length === 0;
}
