import type { AuditLog, AuditLogDownloadProgress, BrowserSession, BrowserPool } from '../../src/client/index.ts';
import type { Bytes, CallOptions, Client, CredentialProviderItem, FileEvent } from '../../src/client/index.ts';
import type { FileInfo, ItemList, Profile, TokenItemList, Upload, UploadFile } from '../../src/client/index.ts';
import { expect, test } from '../support/worker.ts';

/** These hold when this file compiles; `tsc --noEmit` is the test. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Pools = Client['browserPools'];
type Files = Client['browsers']['fs'];

const checks: true[] = [
  true satisfies Same<ReturnType<Pools['acquire']>, Promise<BrowserSession | undefined>>,
  true satisfies Same<ReturnType<Pools['create']>, Promise<BrowserPool>>,
  true satisfies Same<ReturnType<Pools['release']>, Promise<undefined>>,
  true satisfies Same<ReturnType<Client['profiles']['list']>, ItemList<Profile>>,
  true satisfies Same<ReturnType<Client['auditLogs']['list']>, TokenItemList<AuditLog>>,
  true satisfies Same<
    Awaited<ReturnType<Client['credentialProviders']['listItems']>>['items'],
    CredentialProviderItem[]
  >,
  true satisfies Same<ReturnType<Client['auditLogs']['download']>, Promise<AuditLogDownloadProgress>>,
  true satisfies Same<ReturnType<Files['readFile']>, Promise<Bytes>>,
  true satisfies Same<ReturnType<Files['listFiles']>, Promise<FileInfo[]>>,
  true satisfies Same<ReturnType<Files['watch']['events']>, AsyncIterable<FileEvent>>,
  true satisfies Same<ReturnType<Files['watch']['stop']>, Promise<undefined>>,
  true satisfies Same<Parameters<Files['watch']['events']>, [string, string, CallOptions?]>,
  true satisfies Same<
    Parameters<Files['upload']>,
    [string, { files: { dest_path: string; file: UploadFile }[] }, CallOptions?]
  >,
  true satisfies Same<Parameters<Pools['flush']>, [string, CallOptions?]>,
  true satisfies Same<
    Parameters<Pools['release']>,
    [string, { session_id: string; reuse?: boolean | undefined }, CallOptions?]
  >,
  true satisfies Same<Parameters<Files['readFile']>, [string, { path: string }, CallOptions?]>,
  true satisfies Same<
    Parameters<Files['writeFile']>,
    [string, Upload, { path: string; mode?: string | undefined }, CallOptions?]
  >,
];

/** Never called: calls that must compile, and calls that must not. */
export function calls({ browserPools, browsers, profiles }: Client, signal: AbortSignal): unknown[] {
  return [
    browserPools.acquire('ci'),
    browserPools.acquire(
      'ci',
      { acquire_timeout_seconds: 30 },
      { signal, timeout: 1, maxRetries: 0, headers: { a: 'b' } },
    ),
    browsers.create(),
    browsers.list(),
    browsers.list({ status: 'all', tags: { team: 'a' }, limit: '5' }, { signal }),
    // @ts-expect-error the pool is missing
    browserPools.acquire(),
    // @ts-expect-error the body is required
    browserPools.release('ci'),
    // @ts-expect-error an unknown field
    browserPools.acquire('ci', { acquire_timeout: 30 }),
    // @ts-expect-error the query is required
    browsers.fs.writeFile('a', 'text'),
    // @ts-expect-error a status that does not exist
    browsers.list({ status: 'ended' }),
    // @ts-expect-error no such operation
    profiles.flush('x'),
  ];
}

test('chosen functions of the client have the expected parameter and result types', () => {
  expect(checks).not.toContain(false);
});
