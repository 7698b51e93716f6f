import path from 'node:path';
import { test } from '@playwright/test';

/** A path in the output of the running test. */
export function outputPath(...names: string[]): string {
  return path.join(test.info().outputPath(), ...names);
}
