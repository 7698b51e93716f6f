import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Hello } from './holder.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';

/** How often the reaper looks whether the runner still lives, and how long the workers may outlive it, in milliseconds. */
const runnerPoll = 250;
const workerGrace = 5000;
const releaseAttempts = 5;

/** Gives leases back for the workers of one run. */
export class Reaper {
  readonly #ledger: Ledger;
  readonly #server: Server;
  readonly #holders = new Map<Socket, Hello>();
  /** Everyone that ever held, since a lease of a worker that is gone is given back by its credentials. */
  readonly #known = new Map<string, Hello>();
  readonly #releasing = new Set<Promise<void>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#server = createServer((socket) => this.#greet(socket));
  }

  /** Throws EADDRINUSE when the run has a reaper already. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, resolve);
    });
  }

  /** Ends when the runner and its workers are gone and their leases are given back. */
  async watch(runnerPid: number): Promise<void> {
    while (isAlive(runnerPid)) await delay(runnerPoll);
    const deadline = Date.now() + workerGrace;
    while (this.#holders.size > 0 && Date.now() < deadline) await delay(50);
    this.#server.close();
    for (const socket of this.#holders.keys()) socket.destroy();
    for (const holder of this.#known.keys()) this.#reap(holder);
    await Promise.all(this.#releasing);
    await this.#flush();
    if (this.#ledger.open().length === 0) rmSync(this.#ledger.directory, { recursive: true, force: true });
  }

  #greet(socket: Socket): void {
    socket.on('error', () => undefined);
    createInterface(socket).once('line', (line) => {
      const hello = JSON.parse(line) as Hello;
      this.#holders.set(socket, hello);
      this.#known.set(hello.holder, hello);
      socket.write('held\n');
    });
    socket.on('close', () => {
      const hello = this.#holders.get(socket);
      this.#holders.delete(socket);
      if (hello) this.#reap(hello.holder);
    });
  }

  #reap(holder: string): void {
    const hello = this.#known.get(holder);
    if (!hello) return;
    for (const entry of this.#ledger.open()) {
      if (entry.holder !== holder) continue;
      const releasing = this.#release(entry, hello).finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  async #release(entry: LedgerEntry, hello: Hello): Promise<void> {
    const { createClient, NotFoundError } = await loadClient();
    await using client = createClient({ ...hello.service, callTimeout: 10_000 });
    for (let attempt = 1; attempt <= releaseAttempts; attempt++) {
      try {
        // What its holder did not give back itself is in an unknown state.
        if (entry.pool === undefined) await client.browsers.deleteByID(entry.sessionId);
        else await client.browserPools.release(entry.pool, { session_id: entry.sessionId, reuse: false });
      } catch (error) {
        if (!(error instanceof NotFoundError)) {
          await delay(200 * 2 ** attempt);
          continue;
        }
      }
      this.#ledger.append({ ...entry, event: 'released', at: Date.now() });
      return;
    }
  }

  async #flush(): Promise<void> {
    const pools = new Map<string, Hello>();
    for (const hello of this.#known.values()) if (hello.flush !== undefined) pools.set(hello.flush, hello);
    for (const [pool, hello] of pools) {
      const { createClient } = await loadClient();
      await using client = createClient({ ...hello.service, callTimeout: 10_000 });
      // The service may be gone together with the runner, and its idle browsers with it.
      await client.browserPools.flush(pool).catch(() => undefined);
    }
  }
}

/** Loaded when there is something to give back: the workers wait for the reaper's start, and most runs leave it nothing to do. */
function loadClient() {
  return import('../client/index.ts');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
