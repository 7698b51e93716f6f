import { clientOf, fileTag, runTag, testTag, testTitleOf, workerTag } from '../../contract/lease-tags.ts';
import type { LeaseLabels } from '../../contract/dashboard-events.ts';

const ownTag = /^playwright-pool\./;

/** Reads a session's tests, file, run and worker from its tags. The fixtures set these tags. */
export function leaseLabels(
  tags: Record<string, string> | undefined,
  pastTags: readonly Record<string, string>[],
): LeaseLabels {
  const past = new Set(pastTags.map((earlier) => titleIn(earlier, testTag)).filter((title) => title !== undefined));
  const earlier_tests = past.size > 0 ? [...past] : undefined;
  if (!tags) return { earlier_tests };
  const read = (tag: string) => titleIn(tags, tag);
  const [test, file, run, worker] = [testTag, fileTag, runTag, workerTag].map(read);
  const client = clientOf(tags) || undefined;
  const others = Object.entries(tags).filter(([name]) => !ownTag.test(name));
  const shown = others.length > 0 ? Object.fromEntries(others) : undefined;
  return { test, file, run, worker, client, earlier_tests, tags: shown };
}

function titleIn(tags: Record<string, string>, tag: string): string | undefined {
  return testTitleOf({ [testTag]: tags[tag] ?? '' }) || undefined;
}
