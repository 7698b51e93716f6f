import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The path of a compiled file of the service. Child processes and scripts of HTML views always use the compiled files,
 * even if a test imports the TypeScript sources.
 */
export function builtFile(name: string): string {
  return path.join(
    path.dirname(fileURLToPath(import.meta.resolve('playwright-pool/package.json'))),
    'dist/src/service',
    name,
  );
}
