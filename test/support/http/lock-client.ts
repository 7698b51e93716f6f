import { once } from 'node:events';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';

type Told = { type: 'held' | 'waiting' | 'lost'; token?: string; before?: number; holder?: string };

/** A client of `/locks`. */
export class LockClient implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly socket: WebSocket;
  readonly closed: Promise<unknown>;
  /** In ms since the epoch. */
  heldAt: number | undefined;

  constructor({ url, apiKey }: { url: string; apiKey: string }, query: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/locks?${query}`, {
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
    this.socket.on('message', (data: Buffer) => {
      this.told.push(JSON.parse(String(data)) as Told);
      if (this.isHeld) this.heldAt = Date.now();
    });
    this.closed = once(this.socket, 'close');
    this.closed.catch(() => {});
  }

  get isHeld(): boolean {
    return this.told.at(-1)?.type === 'held';
  }

  /** Resolves when the service has said something. */
  async answered(): Promise<this> {
    await expect.poll(() => this.told.length).toBeGreaterThan(0);
    return this;
  }

  async held(): Promise<string> {
    await expect.poll(() => this.isHeld, { timeout: 15_000, intervals: [100] }).toBe(true);
    return this.told.at(-1)!.token!;
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    this.socket.terminate();
    await this.closed.catch(() => {});
  }
}
