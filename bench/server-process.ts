import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A minimal server in its own process, with which a bench compares the service. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  /**
   * `name` is a file beside this one. The server prints its URL first. It ends with its stdin, so a killed bench leaves
   * no server.
   */
  static async start(name: string, ...args: string[]): Promise<ServerProcess> {
    const file = fileURLToPath(new URL(name, import.meta.url));
    const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [url] = (await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(30_000) })) as [
      string,
    ];
    return new ServerProcess(url, async () => {
      child.kill();
      await once(child, 'close');
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}
