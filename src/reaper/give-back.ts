import { type Browser, type CallOptions, type Client, NotFoundError } from '../client/index.ts';
import type { LedgerEntry } from './ledger.ts';

const leaseTag = 'playwright-pool.lease';

/** The tags of a leased session: its lease is found by them when the answer that granted it was lost. */
export function tagsOf({ lease, holder }: Pick<LedgerEntry, 'lease' | 'holder'>): Record<string, string> {
  return { [leaseTag]: lease, 'playwright-pool.holder': holder };
}

/**
 * The session that is held under a lease; `undefined` when there is none, or none any more: a browser that was given back may be
 * another's by now.
 */
export async function findLeased(client: Client, { lease }: Pick<LedgerEntry, 'lease'>, call?: CallOptions): Promise<Browser | undefined> {
  for await (const session of client.browsers.list({ tags: { [leaseTag]: lease } }, call)) {
    if (session.tags?.[leaseTag] === lease) return session;
  }
  return undefined;
}

/** Ends a lease at the service; one that has ended already is fine. */
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
