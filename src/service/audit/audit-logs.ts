import type { AuditLog, ExportedAuditLog } from '../../contract/audit-logs.ts';
import type { Clock } from '../process/clock.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { Table } from '../database/table.ts';
import { auditLogsTable, idsPerMs, type AuditRow, type NewAuditRow } from './audit-logs-table.ts';
import { auditQuery, type AuditFilter } from './audit-query.ts';
import { AuditRemoval } from './audit-removal.ts';
import { Refusals } from './refusals.ts';

/** A request that was answered. `service` is `api` or `pages`. */
export type AuditRecord = ExportedAuditLog & { service: string };

/** A stored record. Newer records have greater ids. */
export type StoredAuditLog = { id: number; eventId: string; log: AuditLog };

/** The longest time before a record is written, in ms. A killed service loses the records of that time. */
const batchMs = 50;
const largestBatch = 500;
/** The most records that wait while writing fails, for instance because the disk is full. */
const mostWaiting = 50_000;

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Stores and finds audit records. Writes them in batches, after their requests have ended. Before it reads, it writes
 * the records that wait.
 */
export class AuditLogStore {
  readonly #database: Database;
  readonly #rows: Table<typeof auditLogsTable>;
  readonly #clock: Clock;
  readonly #isRecording: boolean;
  readonly #removal: AuditRemoval;
  readonly #refusals = new Refusals();
  #waiting: NewAuditRow[] = [];
  /** Records whose count has grown. */
  readonly #recounted = new Set<NewAuditRow>();
  #sequence = 0;
  #failing = false;
  #cancelFlush: (() => void) | undefined;
  #closed = false;

  /**
   * With a retention of 0 days nothing is recorded. The oldest records are removed if all take more than `largestMiB`.
   */
  constructor(
    database: Database,
    clock: Clock,
    { retentionDays, largestMiB }: { retentionDays: number; largestMiB: number },
  ) {
    this.#database = database;
    this.#rows = new Table(database, auditLogsTable);
    this.#clock = clock;
    this.#isRecording = retentionDays > 0;
    const limits = { retentionMs: retentionDays * dayMs, largestBytes: largestMiB * 1024 * 1024 };
    this.#removal = new AuditRemoval(database, clock, limits);
  }

  add({ timestamp, ...record }: AuditRecord): void {
    if (!this.#isRecording || this.#closed) return;
    this.#sequence = (this.#sequence + 1) % idsPerMs;
    const row: NewAuditRow = { ...record, id: Date.parse(timestamp) * idsPerMs + this.#sequence };
    const counted = this.#refusals.recordFor(row);
    if (counted === row) this.#waiting.push(row);
    else {
      counted.count = (counted.count ?? 1) + 1;
      this.#recounted.add(counted);
    }
    if (this.#waiting.length >= largestBatch && !this.#failing) this.flush();
    else this.#cancelFlush ??= this.#clock.after(batchMs, () => this.flush());
  }

  /**
   * Newest first: up to `count` records that match the filter and, if `before` is given, are older than that record.
   */
  find(filter: AuditFilter, { before, count }: { before?: number | undefined; count: number }): StoredAuditLog[] {
    this.flush();
    const { sql, values } = auditQuery(filter, before);
    const rows = this.#database.prepare(sql).all({ ...values, count }) as (Omit<AuditRow, 'service' | 'count'> & {
      count: number | null;
    })[];
    return rows.map(({ id, event_id: eventId, count: requests, ...row }) => {
      const timestamp = new Date(Math.floor(id / idsPerMs)).toISOString();
      const log = { timestamp, ...row, ...(requests !== null && { count: requests }) };
      return { id, eventId, log };
    });
  }

  /** Writes the waiting records. */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#waiting.length === 0 && this.#recounted.size === 0) return;
    try {
      this.#write(this.#waiting);
      this.#waiting = [];
      this.#recounted.clear();
      this.#failing = false;
      this.#removal.wrote();
    } catch (error) {
      if (!this.#failing)
        console.error('audit records cannot be written; the service tries again every second:', error);
      this.#failing = true;
      this.#waiting = this.#waiting.slice(-mostWaiting);
      this.#cancelFlush = this.#clock.after(1000, () => this.flush());
    }
  }

  close(): void {
    this.flush();
    this.#closed = true;
    this.#cancelFlush?.();
    this.#removal.close();
  }

  #write(rows: NewAuditRow[]): void {
    const taken = this.#database.prepare('SELECT id FROM audit_logs WHERE id IN (SELECT value FROM json_each(?))');
    const isTaken = new Set(taken.pluck().all(JSON.stringify(rows.map(({ id }) => id))) as number[]);
    const movedTo = new Map<number, number>();
    for (const row of rows) {
      if (isTaken.has(row.id)) {
        // The clock was set back, or one millisecond had more requests than ids.
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
      for (const { id, count } of this.#recounted) this.#rows.change({ id }, { count });
    });
  }

  /** The next greater id that is free. */
  #next(id: number): number {
    const gap = `SELECT id + 1 AS free FROM audit_logs stored WHERE id >= ?
      AND NOT EXISTS (SELECT 1 FROM audit_logs WHERE id = stored.id + 1) ORDER BY id LIMIT 1`;
    const isStored = this.#rows.find({ id: id + 1 }) !== undefined;
    return isStored ? (this.#database.prepare(gap).get(id + 1) as { free: number }).free : id + 1;
  }
}

const written = Object.keys(auditLogsTable.columns);

/** One call for a whole batch. A call for each record took several times as long. */
const insertLogs = `INSERT INTO audit_logs (${written.join(', ')})
  SELECT ${written.map((column) => `value ->> '${column}'`).join(', ')} FROM json_each(?)`;

const insertTexts = `INSERT INTO audit_log_texts (rowid, text)
  SELECT id, text FROM audit_logs WHERE id IN (SELECT value ->> 'id' FROM json_each(?))`;
