import type { createClient } from '../../../src/client/index.ts';

/** An answered acquire as the service saw it: the program that sent it, and two times in ms since the epoch. */
export type Acquire = { run: string; askedAt: number; grantedAt: number };

/** The acquires that got a browser. A lease that waited for longer than one request can last has its last one. */
export async function acquiresOf(client: ReturnType<typeof createClient>): Promise<Acquire[]> {
  const acquires: Acquire[] = [];
  const day = 24 * 3600 * 1000;
  const window = { start: new Date(Date.now() - day).toISOString(), end: new Date(Date.now() + day).toISOString() };
  const records = client.auditLogs.list({ ...window, method: 'POST', search: 'acquire' });
  for await (const { status, user_agent, timestamp, duration_ms } of records) {
    const askedAt = Date.parse(timestamp);
    if (status === 200) acquires.push({ run: user_agent, askedAt, grantedAt: askedAt + duration_ms });
  }
  return acquires;
}
