import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedTemporaryDirectory } from '../../src/service/process/trees/reachable.ts';

/** A directory that the users of sessions can enter. They can't enter a test's output in a clone in root's home. */
export async function openDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(await sharedTemporaryDirectory(), 'playwright-pool-test-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
