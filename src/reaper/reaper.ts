import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../client/index.ts';
import { isRunning } from '../service/process/children/is-running.ts';
import { abandonedRuns, isAbandoned } from './abandoned.ts';
import type { Hello, Message } from './holder.ts';
import { hasEnded, type LeasedFrom, type Ledger, type LedgerEntry } from './ledger.ts';

// In milliseconds.
const runnerPoll = 250;
/** After the runner's end, the reaper waits this long for workers. */
const workerGrace = 5000;
const lookAgainAfter = 1000;
const callTimeout = 10_000;

const releaseAttempts = 5;

/** Returns leased browsers to the service: those of a run's dead workers, and those that earlier runs failed to return. */
export class Reaper {
  readonly #ledger: Ledger;
  readonly #server: Server;
  readonly #holders = new Map<Socket, string>();
  /** The services of the run, by `placeOf`. The API key of any worker can give back the lease of a dead one. */
  readonly #services = new Map<string, Hello['service']>();
  readonly #toFlush = new Map<string, { pool: string; service: Hello['service'] }>();
  /** The running releases, by the lease's id. */
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #sweeping = new Set<Promise<void>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#server = createServer((socket) => this.#greet(socket));
  }

  /** Listens for workers. Throws EADDRINUSE if the run has a reaper already. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, resolve);
    });
  }

  /** Resolves when the runner and its workers are gone, and all their leases are returned. */
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
    const lines = createInterface(socket);
    // The interface repeats the errors of its socket.
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      const message = parseMessage(line);
      if (!message) return;
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
    // Ignore errors: a later run tries again.
    this.#sweeping.add(this.#sweep().catch(() => undefined));
  }

  /** Gives back the leases of abandoned runs to the services that this run uses. */
  async #sweep(): Promise<void> {
    for (const { ledger, isForgotten } of await abandonedRuns(this.#ledger.directory)) {
      const released = await Promise.all(ledger.open().map((entry) => this.#release(entry)));
      // Check again: another run may have got the same pid, and so the same directory, meanwhile.
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

  /** Gives a lease back. Returns whether the lease has ended at the service. */
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
      // Ignore errors: the service may have ended with the runner, and its idle browsers, too.
      await client.browserPools.flush(pool).catch(() => undefined);
    }
  }
}

/** Returns `undefined` for the incomplete message of a worker that was killed. */
function parseMessage(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return undefined;
  }
}

/** Gives back the lease's session. Returns false while the service may still grant the lease. */
async function endLease(client: Client, entry: LedgerEntry): Promise<boolean> {
  const { findLeased, giveBack } = await import('./give-back.ts');
  const session = await findLeased(client, entry);
  // Don't reuse the browser: a killed worker leaves it in an unknown state.
  if (session) await giveBack(client, { pool: entry.pool, sessionId: session.session_id, reuse: false });
  return session !== undefined || entry.event === 'acquired' || Date.now() > (entry.until ?? 0);
}

function placeOf({ baseURL, projectId = '' }: LeasedFrom): string {
  return `${baseURL} ${projectId}`;
}

/** Loads the client only when it is needed. Most runs need it never, and workers wait for the reaper's start. */
async function openClient(service: Hello['service']): Promise<Client> {
  const { createClient } = await import('../client/index.ts');
  return createClient({ ...service, callTimeout });
}
