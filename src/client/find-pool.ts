import type { BrowserPool } from '../contract/browser-pools.ts';
import type { Engine } from '../contract/values.ts';
import type { Client } from './client.ts';
import { unlessMissing } from './errors.ts';
import type { CallOptions } from './request.ts';

/** The pool of an engine, by its id or name. Pools of several engines may have the same name. */
export async function findPool(
  { browserPools }: Pick<Client, 'browserPools'>,
  { name, engine }: { name: string; engine: Engine },
  options: CallOptions,
): Promise<BrowserPool | undefined> {
  // A name alone means the pool of Chromium.
  if (engine === 'chromium') return await unlessMissing(browserPools.retrieve(name, options));
  for await (const pool of browserPools.list({ query: name }, options))
    if ([pool.id, pool.name].includes(name) && pool.browser_pool_config['engine'] === engine) return pool;
  return undefined;
}
