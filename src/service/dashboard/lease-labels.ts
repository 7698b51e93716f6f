import { clientOf, fileTag, runTag, testTag, testTitleOf, workerTag } from '../../contract/lease-tags.ts';
import type { LeaseLabels } from '../../contract/dashboard-events.ts';

const ownTag = /^playwright-pool\./;

/** Reads a session's tests, file, run and worker from its tags. The fixtures set these tags. */
export function leaseLabels(
  tags: Record<string, string> | undefined,
  pastTags: readonly Record<string, string>[],
): LeaseLabels {
  const past = new Set(pastTags.map((earlier) => titleIn(earlier, testTag)).filter((title) => title !== undefined));
  const earlier = past.size > 0 && { earlier_tests: [...past] };
  if (!tags) return { ...earlier };
  const read = (tag: string) => titleIn(tags, tag);
  const [test, file, run, worker] = [testTag, fileTag, runTag, workerTag].map(read);
  const client = clientOf(tags);
  const others = Object.entries(tags).filter(([name]) => !ownTag.test(name));
  return {
    ...(test && { test }),
    ...(file && { file }),
    ...(run && { run }),
    ...(worker && { worker }),
    ...(client && { client }),
    ...earlier,
    ...(others.length > 0 && { tags: Object.fromEntries(others) }),
  };
}

function titleIn(tags: Record<string, string>, tag: string): string | undefined {
  return testTitleOf({ [testTag]: tags[tag] ?? '' }) || undefined;
}
