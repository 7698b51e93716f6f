import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A server of a few lines in a process of its own, for the other side. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  /** `name` is that of a file beside this one; the server prints its URL first, and ends with its stdin, so that none is left by a killed bench. */
  static async start(name: string, ...args: string[]): Promise<ServerProcess> {
    const file = fileURLToPath(new URL(name, import.meta.url));
    const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [url] = (await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(30_000) })) as [string];
    return new ServerProcess(url, async () => {
      child.kill();
      await once(child, 'close');
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}
