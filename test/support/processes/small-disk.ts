import { spawnSync } from 'node:child_process';
import { test } from '@playwright/test';

/** Mounts a disk of this size, such as `1m`. Skips the running test if the machine doesn't allow that. */
export function mountSmallDisk(directory: string, size: string): Disposable {
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', directory]).status === 0;
  test.skip(!isMounted, 'file systems cannot be mounted here');
  return { [Symbol.dispose]: () => void spawnSync('umount', ['--lazy', directory]) };
}
