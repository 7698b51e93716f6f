import { replays as operations } from '../../contract/replays.ts';
import { toOperationError } from '../http/answers/error-answer.ts';
import type { Clock } from '../process/clock.ts';
import { shortReplayUrl } from '../replays/replay-links.ts';
import type { Replays } from '../replays/replays.ts';
import type { Session } from '../sessions/session.ts';

type Recorded = { title: string | undefined; origin: string; apiKeyId: string; clock: Clock };

/**
 * Records a lease from now to its end. Returns the value of the header from which Playwright Test attaches a link to the
 * replay to its tests. If the recording can't start, the attachment has the reason: that fails no test.
 */
export async function attachedReplay(session: Session, replays: Replays, recorded: Recorded): Promise<string> {
  const { title, ...link } = recorded;
  const value = await replays.start(session, operations.start.body.parse(title === undefined ? {} : { title })).then(
    (record) => shortReplayUrl(record, link),
    (error: unknown) => {
      const known = toOperationError(error);
      if (known.code === 'internal_error') console.error('a lease could not be recorded:', error);
      return `not recorded: ${known.message}`;
    },
  );
  // Playwright cuts the value at `=`. A header has no other characters than these.
  return `replay=${value.replaceAll(/[^ -<>-~]/g, ' ')}`;
}
