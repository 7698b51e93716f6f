import { toOperationError, isMissing } from './machine-errors.ts';
import { MachineSession } from './machine-session.ts';
import type { Session } from '../sessions/session.ts';
import { endsLease } from '../sessions/lease.ts';

/** The time limit for the machine's answer, in ms. */
const answerMs = 3000;

/**
 * Lets the session end when its next client leaves, and returns the URL of its machine for this client. `undefined` if
 * clients must not connect to the machine, or if it can't do that. `attachments` are values of headers in its answer.
 */
export async function redirect(
  session: Session,
  path: '/cdp' | '/playwright',
  attachments: string[],
): Promise<string | undefined> {
  const { cdp_ws_url: cdp, playwright_ws_url: playwright } = session.place?.links ?? {};
  const link = path === '/cdp' ? cdp : playwright;
  if (link === undefined || !(session instanceof MachineSession)) return undefined;
  const { client, url } = session.host;
  try {
    await client.browsers.awaitClient(session.id, { attachments }, { timeout: answerMs });
  } catch (error) {
    // An older service, or the one for overflow.
    if (isMissing(error)) return undefined;
    throw toOperationError(error, url);
  }
  // From now on the machine ends the lease, also if the control plane restarts.
  session.lease.endsWithSocket = undefined;
  session.record();
  const redirected = new URL(link);
  redirected.searchParams.set(endsLease, 'true');
  return redirected.href;
}
