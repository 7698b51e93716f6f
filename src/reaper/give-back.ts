import { type Browser, type CallOptions, type Client, NotFoundError } from '../client/index.ts';
import type { LedgerEntry } from './ledger.ts';

const leaseTag = 'playwright-pool.lease';

/** The tags of a leased session. They find the session if the answer to the lease was lost. */
export function tagsOf({ lease, holder }: Pick<LedgerEntry, 'lease' | 'holder'>): Record<string, string> {
  return { [leaseTag]: lease, 'playwright-pool.holder': holder };
}

/** The session of a lease, if it still exists: another lease may have the browser by now. */
export async function findLeased(
  client: Client,
  { lease }: Pick<LedgerEntry, 'lease'>,
  call?: CallOptions,
): Promise<Browser | undefined> {
  for await (const session of client.browsers.list({ tags: { [leaseTag]: lease } }, call)) {
    if (session.tags?.[leaseTag] === lease) return session;
  }
  return undefined;
}

/** Ends a lease at the service. It may have ended before. */
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
