import { fileTag, runTag, testTag, testTitleOf, workerTag } from '../../contract/lease-tags.ts';
import type { LeaseLabels } from '../../contract/dashboard-events.ts';

const ownTag = /^playwright-pool\./;

/** Reads a session's test, file, run and worker from its tags. The fixtures set these tags. */
export function leaseLabels(tags: Record<string, string> | undefined): LeaseLabels {
  if (!tags) return {};
  const read = (tag: string) => testTitleOf({ [testTag]: tags[tag] ?? '' }) || undefined;
  const [test, file, run, worker] = [testTag, fileTag, runTag, workerTag].map(read);
  const others = Object.entries(tags).filter(([name]) => !ownTag.test(name));
  return {
    ...(test && { test }),
    ...(file && { file }),
    ...(run && { run }),
    ...(worker && { worker }),
    ...(others.length > 0 && { tags: Object.fromEntries(others) }),
  };
}
