import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { chromiumSwitches } from '../build/src/service/chromium/switches.js';
import { executable } from './stock.ts';

/** A Chromium with a debugging port, for the other side: the service's browsers have no port. */
export class DebuggingPort implements AsyncDisposable {
  /** Where CDP clients connect. */
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  static async open(): Promise<DebuggingPort> {
    const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
    const switches = [
      ...chromiumSwitches({ headless: true, sandbox: process.getuid?.() !== 0 }),
      `--user-data-dir=${directory}`,
      '--remote-debugging-port=0',
      // Chromium ends when this pipe closes, so also when the bench is killed.
      '--remote-debugging-pipe',
    ];
    const stdio = ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] as const;
    const child = spawn(executable, switches, { stdio: [...stdio], detached: true });
    const stop = async () => {
      // The executable can be a script that starts Chromium: the group has both.
      if (child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid!, 'SIGKILL');
        await once(child, 'exit');
      }
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    };
    for await (const line of createInterface(child.stderr!)) {
      const url = /^DevTools listening on (ws:\S+)/.exec(line)?.[1];
      if (url !== undefined) return new DebuggingPort(url, stop);
    }
    await stop();
    throw new Error(`${executable} ended before it listened`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}
