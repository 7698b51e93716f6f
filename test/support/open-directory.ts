import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A directory that the users of sessions can enter. They can't enter a test's output in a clone in root's home, and have
 * a `/tmp` of their own.
 */
export async function openDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(process.getuid?.() === 0 ? '/var/lib' : tmpdir(), 'playwright-pool-test-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
