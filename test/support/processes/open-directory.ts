import { chownSync, statSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * A directory that the users of sessions can enter. They can't enter a test's output in a clone in root's home, and have
 * a `/tmp` of their own.
 */
export async function openDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(process.getuid?.() === 0 ? '/var/lib' : tmpdir(), 'playwright-pool-test-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Writes a file for the user that owns its directory. The service keeps no other files of a session. */
export function writeAsOwner(file: string, data: Buffer): void {
  const { uid, gid } = statSync(dirname(file));
  writeFileSync(file, data);
  chownSync(file, uid, gid);
}
