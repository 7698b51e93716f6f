import type { ServiceAddress } from './connection.ts';

/** The protocol that a client speaks to its browser. */
export type ConnectProtocol = 'playwright' | 'cdp';

/**
 * The URL that leases a browser while a client is connected to it. `key`: the URL contains the API key, for clients that
 * can't send headers. `run`: the id of the test run.
 */
export function connectURL(
  { baseURL, apiKey, projectId }: ServiceAddress,
  { protocol, pool, run, key }: { protocol: ConnectProtocol; pool: string | undefined; run?: string; key: boolean },
): string {
  const url = new URL(baseURL);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${protocol}`;
  url.search = '';
  if (pool !== undefined) url.searchParams.set('pool', pool);
  if (run !== undefined) url.searchParams.set('run', run);
  if (projectId !== undefined) url.searchParams.set('project', projectId);
  if (key) url.searchParams.set('token', apiKey);
  return url.href;
}
