import { readFileSync } from 'node:fs';

/**
 * The text of a script or a style of a view. It comes from the build, because the scripts are compiled for browsers
 * there.
 */
export function viewFile(name: string): string {
  return readFileSync(new URL(`dist/src/${name}`, import.meta.resolve('playwright-pool/package.json')), 'utf8');
}
