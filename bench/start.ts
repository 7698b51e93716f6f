import { spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import type { Comparison } from './comparison.ts';
import { ServiceProcess } from './service.ts';
import { root } from './suite.ts';

export const runs = 9;

/** Measures the start of the service and the import of the fixtures. */
export async function run(runs: number): Promise<Comparison[]> {
  const starts: number[] = [];
  const memory: number[] = [];
  const imports: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    await using service = await ServiceProcess.start();
    starts.push(performance.now() - started);
    // By now the service has loaded everything that it loads after it listens.
    await setTimeout(500);
    memory.push(await service.memory('VmRSS'));
    const stock = importTime(`import('@playwright/test')`);
    imports.push(importTime(`import('playwright-pool')`) - stock);
  }
  return [
    { measure: 'service start to listening', unit: 'ms', ours: starts },
    { measure: "the service's memory without browsers", unit: 'MB', ours: memory },
    { measure: 'import of the fixtures, over @playwright/test', unit: 'ms', ours: imports },
  ];
}

/** The import time of a module in a new process, in milliseconds. */
function importTime(expression: string): number {
  const code = `const started = performance.now(); await ${expression}; process.stdout.write(String(performance.now() - started))`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    encoding: 'utf8',
  });
  return Number(stdout);
}
