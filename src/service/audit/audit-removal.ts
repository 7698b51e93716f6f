import type { Clock } from '../process/clock.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { idsPerMs } from './audit-logs-table.ts';

const intervalMs = 60 * 60 * 1000;
/**
 * The number of rows that are removed or counted at once, and the pause before the next ones. Requests are served
 * during the pauses.
 */
const batch = 500;
/** The size limit removes fewer rows at once, so that it doesn't remove many more than needed. */
const excessBatch = 50;
const pauseMs = 20;

/** The bytes that a record takes, with its indexes. Measured: the index of texts takes about three times the text. */
const sizeOf = '600 + 4 * length(path) + length(user_agent) + length(domain)';

/**
 * Removes old audit records in the background: those older than the retention time, and the oldest ones if all together
 * take more than `largestBytes`.
 */
export class AuditRemoval {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #limits: { retentionMs: number; largestBytes: number };
  /** Records up to this one are counted. */
  #counted = 0;
  /** The bytes of the counted records. */
  #bytes = 0;
  #cancel: (() => void) | undefined;

  constructor(database: Database, clock: Clock, limits: { retentionMs: number; largestBytes: number }) {
    this.#database = database;
    this.#clock = clock;
    this.#limits = limits;
    this.#run();
  }

  /** Call it after records were written. */
  wrote(): void {
    this.#countNext();
    if (this.#bytes > this.#limits.largestBytes) this.#run();
  }

  close(): void {
    this.#cancel?.();
  }

  #run(): void {
    let isDone = false;
    try {
      isDone = this.#countNext() === 0;
      const { retentionMs, largestBytes } = this.#limits;
      const old = this.#remove((this.#clock.now() - retentionMs) * idsPerMs, batch);
      const excess = this.#bytes > largestBytes ? this.#remove(Number.MAX_SAFE_INTEGER, excessBatch) : 0;
      isDone &&= old < batch && (excess === 0 || this.#bytes <= largestBytes);
    } catch (error) {
      isDone = true;
      console.error('old audit records cannot be removed; the service tries again in an hour:', error);
    }
    this.#cancel?.();
    this.#cancel = this.#clock.after(isDone ? intervalMs : pauseMs, () => this.#run());
  }

  /** Counts the next records, and returns their number. */
  #countNext(): number {
    const { last, bytes, rows } = this.#database
      .prepare(
        `SELECT max(id) AS last, total(bytes) AS bytes, count(*) AS rows
         FROM (SELECT id, ${sizeOf} AS bytes FROM audit_logs WHERE id > ? ORDER BY id LIMIT ?)`,
      )
      .get(this.#counted, batch) as { last: number | null; bytes: number; rows: number };
    this.#counted = last ?? this.#counted;
    this.#bytes += bytes;
    return rows;
  }

  /** Removes the oldest records before this id, and returns their number: `most` at most. */
  #remove(before: number, most: number): number {
    const oldest = 'SELECT id FROM audit_logs WHERE id < ? ORDER BY id LIMIT ?';
    const values = [before, most];
    return inTransaction(this.#database, () => {
      const { bytes } = this.#database
        .prepare(`SELECT total(${sizeOf}) AS bytes FROM audit_logs WHERE id <= ? AND id IN (${oldest})`)
        .get(this.#counted, ...values) as { bytes: number };
      this.#database.prepare(`DELETE FROM audit_log_texts WHERE rowid IN (${oldest})`).run(...values);
      const { changes } = this.#database.prepare(`DELETE FROM audit_logs WHERE id IN (${oldest})`).run(...values);
      this.#bytes -= bytes;
      return changes;
    });
  }
}
