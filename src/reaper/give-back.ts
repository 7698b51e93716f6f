import { type BrowserSession, type CallOptions, type Client, NotFoundError } from '../client/index.ts';
import type { LedgerEntry } from './ledger.ts';

const leaseTag = 'playwright-pool.lease';

/** The tags of a leased session. By these tags, `findLeased` finds the session if the answer to the lease was lost. */
export function tagsOf({ lease, holder }: Pick<LedgerEntry, 'lease' | 'holder'>): Record<string, string> {
  return { [leaseTag]: lease, 'playwright-pool.holder': holder };
}

/** Finds the session of a lease. `undefined` if it has ended, or if another lease has the browser now. */
export async function findLeased(
  client: Client,
  { lease }: Pick<LedgerEntry, 'lease'>,
  call?: CallOptions,
): Promise<BrowserSession | undefined> {
  for await (const session of client.browsers.list({ tags: { [leaseTag]: lease } }, call)) {
    if (session.tags?.[leaseTag] === lease) return session;
  }
  return undefined;
}

/** Returns a leased browser to the service. Does nothing if the lease has ended already. */
export async function giveBack(
  client: Client,
  { pool, sessionId, reuse }: { pool: string | undefined; sessionId: string; reuse: boolean },
  call?: CallOptions,
): Promise<void> {
  try {
    if (pool === undefined) await client.browsers.deleteByID(sessionId, call);
    else await client.browserPools.release(pool, { session_id: sessionId, reuse }, call);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}
