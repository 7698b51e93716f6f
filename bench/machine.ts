import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';

/** The machine of the figures, and the versions of the programs. Chromium's is known after a start. */
export function machine() {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: `${(totalmem() / 1e9).toFixed(1)} GB`,
    kernel: `${process.platform} ${release()} ${process.arch}`,
    versions: {
      package: versionIn('../package.json'),
      Playwright: versionIn('../node_modules/@playwright/test/package.json'),
      Node: process.version,
    },
  };
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as { version: string }).version;
}
