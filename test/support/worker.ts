import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test as base, type WorkerInfo } from '@playwright/test';
import { systemChromium } from './views/chromium.ts';

type Use<Part> = (part: Part) => Promise<void>;

/** Things that several tests of a worker use. The first of these tests starts a part, and it ends with the worker. */
export class Worker implements AsyncDisposable {
  readonly #directory: string;
  readonly #parts = new Map<unknown, Promise<unknown>>();
  readonly #running: Promise<void>[] = [];
  #end = () => {};
  readonly #ended = new Promise<void>((resolve) => (this.#end = resolve));

  constructor({ project, workerIndex }: WorkerInfo) {
    this.#directory = join(project.outputDir, `worker-${workerIndex}`);
  }

  /** A path in a directory that is removed with the worker. */
  outputPath(name: string): string {
    return join(this.#directory, name);
  }

  /** The part that `start` starts, passes to `use`, and ends after it. */
  part<Part, Given>(start: (use: Use<Part>, given: Given) => Promise<void>, given: Given): Promise<Part> {
    const begin = () =>
      new Promise<Part>((resolve, reject) => {
        const use = async (part: Part) => {
          resolve(part);
          await this.#ended;
        };
        const running = start(use, given);
        running.catch(reject);
        this.#running.push(running);
      });
    const part = this.#parts.get(start) ?? begin();
    this.#parts.set(start, part);
    return part as Promise<Part>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await Promise.all(this.#running);
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/**
 * The base of all tests. Other worker-scoped fixtures would cost seconds: Playwright starts new workers for tests whose
 * worker-scoped fixtures differ from those of the tests before, and each loads the whole service.
 */
export const test = base.extend<{}, { worker: Worker }>({
  launchOptions: [async ({}, use) => use({ executablePath: await systemChromium() }), { scope: 'worker' }],
  worker: [
    async ({}, use, workerInfo) => {
      await using worker = new Worker(workerInfo);
      await use(worker);
    },
    { scope: 'worker', timeout: 180_000 },
  ],
});

/**
 * A fixture whose value is one part of the worker, for all its tests. Other tests may run for minutes between them:
 * sessions need a long idle timeout.
 */
export function perWorker<Part>(start: (use: Use<Part>, worker: Worker) => Promise<void>) {
  return async ({ worker }: { worker: Worker }, use: Use<Part>) => use(await worker.part(start, worker));
}

export { expect } from '@playwright/test';
