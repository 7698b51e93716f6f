import Kernel from '@onkernel/sdk';
import { createClient } from 'playwright-pool/client';
import { Pool } from 'undici';
import { interleaved, type Comparison } from './comparison.ts';
import { ServerProcess } from './server-process.ts';
import { apiKey } from './service.ts';

export const runs = 5;

const calls = 3000;
const atOnce = 16;

/**
 * Compares small parallel calls of our client, of its HTTP library alone, and of the client of the hosted service.
 * The server does almost nothing, because otherwise all of them would wait for the service.
 */
export async function run(runs: number): Promise<Comparison[]> {
  await using server = await ServerProcess.start('json-server.js');
  const { url } = server;
  await using client = createClient({ baseURL: url, apiKey });
  const pool = new Pool(url, { connections: null });
  const kernel = new Kernel({ baseURL: url, apiKey });
  const headers = { authorization: `Bearer ${apiKey}` };
  const ours = () => perSecond(() => client.profiles.retrieve('bench'));
  try {
    const bare = await interleaved(runs, {
      ours,
      other: () =>
        perSecond(async () => {
          const { body } = await pool.request({ method: 'GET', path: '/profiles/bench', headers });
          await body.json();
        }),
    });
    const publicClient = await interleaved(runs, {
      ours,
      other: () => perSecond(() => kernel.profiles.retrieve('bench')),
    });
    return [
      { measure: `calls a second, ${atOnce} at once, against undici alone`, unit: '/s', higherIsBetter: true, ...bare },
      {
        measure: `calls a second, ${atOnce} at once, against the hosted service's SDK`,
        unit: '/s',
        higherIsBetter: true,
        ...publicClient,
      },
    ];
  } finally {
    await pool.close();
  }
}

async function perSecond(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  return calls / ((performance.now() - started) / 1000);
}
