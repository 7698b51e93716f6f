import { readFileSync } from 'node:fs';

/** The style that all views share, followed by the style of one view. */
export function viewStyle(name?: string): string {
  return ['views/tokens.css', 'views/base.css', ...(name === undefined ? [] : [name])].map(viewFile).join('');
}

/**
 * The text of a script or style of an HTML view. Reads it from the build, because scripts are compiled for browsers there.
 */
export function viewFile(name: string): string {
  return readFileSync(new URL(`dist/src/${name}`, import.meta.resolve('playwright-pool/package.json')), 'utf8');
}
