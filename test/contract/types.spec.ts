import { contract, type Contract } from '../../src/contract/contract.ts';
import type { BrowserSession } from '../../src/contract/browsers.ts';
import type { FileEvent } from '../../src/contract/files.ts';
import type { Answer, BodyInput, BodyOutput, MultipartInput, MultipartOutput } from '../../src/contract/operation.ts';
import type { ListPage, PathParameterNames, QueryInput, QueryOutput } from '../../src/contract/operation.ts';
import type { Profile } from '../../src/contract/profiles.ts';
import { expect, test } from '../support/worker.ts';

/** These hold when this file compiles; `tsc --noEmit` is the test. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Pools = Contract['browserPools'];
type Files = Contract['browsers']['fs'];

const checks: true[] = [
  true satisfies Same<PathParameterNames<'/a/{id}/b/{other_id}'>, ['id', 'other_id']>,
  true satisfies Same<PathParameterNames<'/a'>, []>,
  true satisfies Same<Answer<Pools['acquire'], Uint8Array>, BrowserSession | undefined>,
  true satisfies Same<Answer<Pools['release'], Uint8Array>, undefined>,
  true satisfies Same<Answer<Contract['profiles']['list'], Uint8Array>, ListPage<Profile>>,
  true satisfies Same<Answer<Files['readFile'], Uint8Array>, Uint8Array>,
  true satisfies Same<Answer<Files['watch']['events'], Uint8Array>, AsyncIterable<FileEvent>>,
  true satisfies Same<
    MultipartInput<Files['upload']['body'], Uint8Array>,
    { files: { dest_path: string; file: Uint8Array }[] }
  >,
  true satisfies Same<MultipartOutput<Files['uploadZip']['body'], number>, { dest_path: string; zip_file: number }>,
  true satisfies Same<QueryInput<Files['writeFile']>, { path: string; mode?: string | undefined }>,
  true satisfies Same<QueryOutput<Files['writeFile']>, { path: string; mode: string }>,
  true satisfies Same<QueryInput<Pools['flush']>, undefined>,
  true satisfies Same<BodyInput<Pools['flush']>, undefined>,
  true satisfies Same<BodyInput<Files['writeFile']>, undefined>,
  true satisfies Same<BodyInput<Pools['release']>, { session_id: string; reuse?: boolean | undefined }>,
  true satisfies Same<BodyOutput<Pools['release']>, { session_id: string; reuse: boolean }>,
  true satisfies Same<undefined extends BodyInput<Pools['acquire']> ? true : false, true>,
];

test('TypeScript knows the literal path, method and status of an operation', () => {
  const path: '/browser_pools/{id_or_name}/acquire' = contract.browserPools.acquire.path;
  const method: 'POST' = contract.browserPools.acquire.method;
  expect([path, method]).toEqual(['/browser_pools/{id_or_name}/acquire', 'POST']);
  expect(checks).not.toContain(false);
});
