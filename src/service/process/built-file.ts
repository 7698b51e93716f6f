import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A file of the built service. Own processes and scripts of pages run from there, also if a test imports the sources.
 */
export function builtFile(name: string): string {
  return path.join(
    path.dirname(fileURLToPath(import.meta.resolve('playwright-pool/package.json'))),
    'dist/src/service',
    name,
  );
}
