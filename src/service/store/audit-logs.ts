import type { AuditLog, ExportedAuditLog } from '../../contract/audit-logs.ts';
import type { Clock } from '../clock.ts';
import { inTransaction, type Database } from './database.ts';
import { auditColumns, auditQuery, idsPerMs, type AuditFilter } from './audit-query.ts';

/** A request that was answered, by one of the service's faces: `api` or `pages`. */
export type AuditRecord = ExportedAuditLog & { service: string };

/** A stored record. `id` tells the time and the order: newer ones have greater ids. */
export type StoredAuditLog = { id: number; eventId: string; log: AuditLog };

type Row = Pick<ExportedAuditLog, (typeof auditColumns)[number]> & { id: number };

/** How long a record waits to be written: a service that is killed loses no older one. */
const batchMs = 50;
const largestBatch = 500;
/** Records that cannot be written, because the disk is full for instance, wait for better times, up to so many. */
const mostWaiting = 50_000;

const removalIntervalMs = 60 * 60 * 1000;
const removalBatch = 500;
/** Between two batches, for the requests that come meanwhile. */
const removalPauseMs = 20;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * The audit records. They are written in batches, off the path of the requests that they tell of, and read as if they were written at
 * once. Old ones are removed in the background.
 */
export class AuditLogStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #retentionMs: number;
  #waiting: (Row & { service: string })[] = [];
  #sequence = 0;
  #failing = false;
  #cancelFlush: (() => void) | undefined;
  #cancelRemoval: (() => void) | undefined;
  #closed = false;

  /** With a retention of 0 days nothing is recorded. */
  constructor(database: Database, clock: Clock, retentionDays: number) {
    this.#database = database;
    this.#clock = clock;
    this.#retentionMs = retentionDays * dayMs;
    this.#removeOld();
  }

  add({ timestamp, ...record }: AuditRecord): void {
    if (this.#retentionMs === 0 || this.#closed) return;
    this.#sequence = (this.#sequence + 1) % idsPerMs;
    this.#waiting.push({ ...record, id: Date.parse(timestamp) * idsPerMs + this.#sequence });
    if (this.#waiting.length >= largestBatch && !this.#failing) this.flush();
    else this.#cancelFlush ??= this.#clock.after(batchMs, () => this.flush());
  }

  /** Newest first: at most `count` of those that the filter fits, and older than the record `before`, if one is given. */
  find(filter: AuditFilter, { before, count }: { before?: number | undefined; count: number }): StoredAuditLog[] {
    this.flush();
    const { sql, values } = auditQuery(filter, before);
    const rows = this.#database.prepare(sql).all({ ...values, count }) as Row[];
    return rows.map(({ id, event_id: eventId, ...row }) => {
      const log = { timestamp: new Date(Math.floor(id / idsPerMs)).toISOString(), ...row };
      return { id, eventId, log };
    });
  }

  /** Writes what waits. */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#waiting.length === 0) return;
    try {
      this.#write(this.#waiting);
      this.#waiting = [];
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) console.error('audit records cannot be written; it is tried again:', error);
      this.#failing = true;
      this.#waiting = this.#waiting.slice(-mostWaiting);
      this.#cancelFlush = this.#clock.after(1000, () => this.flush());
    }
  }

  close(): void {
    this.flush();
    this.#closed = true;
    this.#cancelFlush?.();
    this.#cancelRemoval?.();
  }

  #write(rows: Row[]): void {
    const taken = this.#database.prepare('SELECT id FROM audit_logs WHERE id IN (SELECT value FROM json_each(?))');
    const isTaken = new Set(taken.pluck().all(JSON.stringify(rows.map(({ id }) => id))) as number[]);
    const movedTo = new Map<number, number>();
    for (const row of rows) {
      if (isTaken.has(row.id)) {
        // The clock was put back, or more requests came in one millisecond than it has ids.
        const ms = Math.floor(row.id / idsPerMs);
        row.id = movedTo.get(ms) ?? row.id;
        while (isTaken.has(row.id)) row.id = this.#next(row.id);
        movedTo.set(ms, row.id);
      }
      isTaken.add(row.id);
    }
    const values = JSON.stringify(rows);
    inTransaction(this.#database, () => {
      this.#database.prepare(insertLogs).run(values);
      this.#database.prepare(insertTexts).run(values);
    });
  }

  /** The next greater id that nothing is stored under. */
  #next(id: number): number {
    const gap = `SELECT id + 1 AS free FROM audit_logs stored WHERE id >= ?
      AND NOT EXISTS (SELECT 1 FROM audit_logs WHERE id = stored.id + 1) ORDER BY id LIMIT 1`;
    const isStored = this.#database.prepare('SELECT 1 FROM audit_logs WHERE id = ?').get(id + 1) !== undefined;
    return isStored ? (this.#database.prepare(gap).get(id + 1) as { free: number }).free : id + 1;
  }

  #removeOld(): void {
    let removed = 0;
    try {
      removed = this.#removeBatch(this.#clock.now() - this.#retentionMs);
    } catch (error) {
      console.error('old audit records cannot be removed; it is tried again in an hour:', error);
    }
    const pause = removed < removalBatch ? removalIntervalMs : removalPauseMs;
    this.#cancelRemoval = this.#clock.after(pause, () => this.#removeOld());
  }

  #removeBatch(before: number): number {
    const oldest = 'SELECT id FROM audit_logs WHERE id < ? ORDER BY id LIMIT ?';
    const values = [before * idsPerMs, removalBatch];
    return inTransaction(this.#database, () => {
      this.#database.prepare(`DELETE FROM audit_log_texts WHERE rowid IN (${oldest})`).run(...values);
      return this.#database.prepare(`DELETE FROM audit_logs WHERE id IN (${oldest})`).run(...values).changes;
    });
  }
}

const written = ['id', ...auditColumns, 'service'];

/** One call for a whole batch: a call for each record took several times as long. */
const insertLogs = `INSERT INTO audit_logs (${written.join(', ')})
  SELECT ${written.map((column) => `value ->> '${column}'`).join(', ')} FROM json_each(?)`;

const insertTexts = `INSERT INTO audit_log_texts (rowid, text)
  SELECT id, text FROM audit_logs WHERE id IN (SELECT value ->> 'id' FROM json_each(?))`;
