import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from 'playwright-pool/client';
import { memoryOf } from './memory.ts';
import { processorTimeOf } from './processes.ts';

const main = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url));

/** The API key of the measured services. */
export const apiKey = 'key-of-a-bench';

/** A service in its own process with its own data directory. Disposing it removes both. */
export class ServiceProcess implements AsyncDisposable {
  readonly directory: string;
  readonly url: string;
  readonly client: Client;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, directory: string, url: string) {
    this.#child = child;
    this.directory = directory;
    this.url = url;
    this.client = createClient({ baseURL: url, apiKey, callTimeout: 300_000 });
  }

  static async start(options: string[] = []): Promise<ServiceProcess> {
    const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
    const child = spawn(process.execPath, [main, 'serve', '--data-dir', directory, ...options], {
      env: { ...process.env, PLAYWRIGHT_POOL_API_KEY: apiKey },
      // Its log would hide the figures. The data directory has it too.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(30_000) })) as [
      string,
    ];
    return new ServiceProcess(child, directory, line.replace('listening on ', ''));
  }

  /** The duration of its answers in whole milliseconds, from its audit records. */
  async answerTimes(search: string, start: string): Promise<number[]> {
    // The service stores records every 100 ms.
    await sleep(500);
    const times: number[] = [];
    const query = { start, end: new Date().toISOString(), method: 'POST', search, limit: 100 };
    for await (const { duration_ms } of this.client.auditLogs.list(query)) times.push(duration_ms);
    return times;
  }

  /** How far the memory of the process rises while `act` runs, in MB. Linux only. */
  async growthDuring(act: () => Promise<void>): Promise<number> {
    // Resets the high-water mark.
    await writeFile(`/proc/${this.#child.pid}/clear_refs`, '5');
    const before = await this.memory('VmRSS');
    await act();
    return (await this.memory('VmHWM')) - before;
  }

  /** The memory of the process in MB, now or at its peak. Linux only. */
  async memory(field: 'VmRSS' | 'VmHWM'): Promise<number> {
    return await memoryOf(this.#child.pid!, field);
  }

  /** The processor time of the process without its browsers so far, in milliseconds. Linux only. */
  async ownProcessorTime(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** The processor time of the process and its descendants so far, in milliseconds. Linux only. */
  async processorTime(): Promise<number> {
    return await processorTimeOf(this.#child.pid!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    this.#child.kill('SIGINT');
    await once(this.#child, 'close');
    await rm(this.directory, { recursive: true, force: true });
  }
}
