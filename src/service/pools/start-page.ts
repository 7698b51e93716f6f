import type { Clock } from '../process/clock.ts';
import type { Session } from '../sessions/session.ts';

/** How long a lease waits for its start page at most, in ms. */
const startPageMs = 1000;

/** Opens a page, and waits for it up to 1 s. Ignores errors. */
export async function openStartPage(session: Session, url: string, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const proceed = () => {
      cancel();
      resolve();
    };
    const cancel = clock.after(startPageMs, resolve);
    session.openPage(url).then(proceed, proceed);
  });
}
