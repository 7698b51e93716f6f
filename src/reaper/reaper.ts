import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../client/index.ts';
import { isRunning } from '../service/process/is-running.ts';
import { abandonedRuns, isAbandoned } from './abandoned.ts';
import type { Hello, Message } from './holder.ts';
import { hasEnded, type LeasedFrom, type Ledger, type LedgerEntry } from './ledger.ts';

// In milliseconds.
const runnerPoll = 250;
/** The longest time that the reaper waits for workers after their runner. */
const workerGrace = 5000;
const lookAgainAfter = 1000;
const callTimeout = 10_000;

const releaseAttempts = 5;

/** Returns the leases of a run's dead workers to the service, and those that earlier runs failed to return. */
export class Reaper {
  readonly #ledger: Ledger;
  readonly #server: Server;
  readonly #holders = new Map<Socket, string>();
  /** By `placeOf`: any worker's credentials can give back the lease of a dead worker. */
  readonly #services = new Map<string, Hello['service']>();
  readonly #toFlush = new Map<string, { pool: string; service: Hello['service'] }>();
  /** By lease. */
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #sweeping = new Set<Promise<void>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#server = createServer((socket) => this.#greet(socket));
  }

  /** Throws EADDRINUSE if the run has a reaper. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, resolve);
    });
  }

  /** Ends when the runner and its workers are gone and their leases returned. */
  async watch(runnerPid: number): Promise<void> {
    while (isRunning(runnerPid)) await sleep(runnerPoll);
    const deadline = performance.now() + workerGrace;
    while (this.#holders.size > 0 && performance.now() < deadline) await sleep(50);
    this.#server.close();
    for (const entry of this.#ledger.open()) this.#startRelease(entry);
    await Promise.all([...this.#releasing.values(), ...this.#sweeping]);
    await this.#flush();
    if (this.#ledger.open().length === 0) rmSync(this.#ledger.directory, { recursive: true, force: true });
  }

  #greet(socket: Socket): void {
    socket.on('error', () => undefined);
    createInterface(socket).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      if ('lease' in message) return this.#startRelease(message);
      this.#holders.set(socket, message.holder);
      this.#meet(message);
      socket.write('held\n');
    });
    socket.on('close', () => {
      const holder = this.#holders.get(socket);
      this.#holders.delete(socket);
      if (holder === undefined) return;
      for (const entry of this.#ledger.open()) if (entry.holder === holder) this.#startRelease(entry);
    });
  }

  #meet({ service, flush }: Hello): void {
    const place = placeOf(service);
    if (flush !== undefined) this.#toFlush.set(`${place} ${flush}`, { pool: flush, service });
    if (this.#services.has(place)) return;
    this.#services.set(place, service);
    // If this fails, a later run sweeps.
    this.#sweeping.add(this.#sweep().catch(() => undefined));
  }

  /** Gives back the leases of abandoned runs at the services that are known now. */
  async #sweep(): Promise<void> {
    for (const { ledger, isForgotten } of await abandonedRuns(this.#ledger.directory)) {
      const released = await Promise.all(ledger.open().map((entry) => this.#release(entry)));
      // Another runner may have got the pid meanwhile.
      const isDone = (isForgotten || released.every(Boolean)) && (await isAbandoned(ledger.directory));
      if (isDone) rmSync(ledger.directory, { recursive: true, force: true });
    }
  }

  #startRelease(entry: LedgerEntry): void {
    if (this.#releasing.has(entry.lease)) return;
    const releasing = this.#releaseAndNote(entry).finally(() => this.#releasing.delete(entry.lease));
    this.#releasing.set(entry.lease, releasing);
  }

  async #releaseAndNote(entry: LedgerEntry): Promise<void> {
    try {
      if (await this.#release(entry)) this.#ledger.append({ ...entry, event: 'released', at: Date.now() });
    } catch {
      // A later run finds the lease again.
    }
  }

  /** Whether the lease is gone at the service. */
  async #release(entry: LedgerEntry): Promise<boolean> {
    const service = this.#services.get(placeOf(entry.service));
    if (!service) return hasEnded(entry.service);
    await using client = await openClient(service);
    for (let attempt = 1; attempt <= releaseAttempts && !hasEnded(entry.service);) {
      try {
        if (await endLease(client, entry)) return true;
        await sleep(lookAgainAfter);
      } catch {
        await sleep(200 * 2 ** attempt++);
      }
    }
    return hasEnded(entry.service);
  }

  async #flush(): Promise<void> {
    for (const { pool, service } of this.#toFlush.values()) {
      if (hasEnded(service)) continue;
      await using client = await openClient(service);
      // The service may have ended with the runner, and its idle browsers with it.
      await client.browserPools.flush(pool).catch(() => undefined);
    }
  }
}

/** Gives back the lease's session; false while the service may still grant the lease. */
async function endLease(client: Client, entry: LedgerEntry): Promise<boolean> {
  const { findLeased, giveBack } = await import('./give-back.ts');
  const session = await findLeased(client, entry);
  // The browser is in an unknown state.
  if (session) await giveBack(client, { pool: entry.pool, sessionId: session.session_id, reuse: false });
  return session !== undefined || entry.event === 'acquired' || Date.now() > (entry.until ?? 0);
}

function placeOf({ baseURL, projectId = '' }: LeasedFrom): string {
  return `${baseURL} ${projectId}`;
}

/** Loads the client late: the workers wait for the reaper's start, and most runs leave no lease. */
async function openClient(service: Hello['service']): Promise<Client> {
  const { createClient } = await import('../client/index.ts');
  return createClient({ ...service, callTimeout });
}
