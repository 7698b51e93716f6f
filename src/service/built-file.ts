import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the built service: what runs as a process of its own, or in a page, runs from there, also where sources are imported directly. */
export function builtFile(name: string): string {
  return path.join(path.dirname(fileURLToPath(import.meta.resolve('playwright-pool/package.json'))), 'dist/src/service', name);
}
