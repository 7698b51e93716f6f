import { integer, optional, text } from '../database/columns.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { type RowOf, Table, table } from '../database/table.ts';

export const appLogsTable = table('app_logs', {
  /** In microseconds since the epoch; different for each line. */
  at: integer(),
  deploymentId: text(),
  invocationId: optional(text()),
  message: text(),
}).with({
  once: `CREATE INDEX app_logs_of_deployment ON app_logs (deployment_id, at);
    CREATE INDEX app_logs_of_invocation ON app_logs (invocation_id, at) WHERE invocation_id IS NOT NULL`,
});

/** The writer of a line: a deployment, or one of its invocations. */
export type LogSource = { deploymentId: string; invocationId?: string | undefined };
export type LogLine = Pick<RowOf<typeof appLogsTable>, 'at' | 'message'>;

/** The bytes that a line takes in addition to its text, roughly. */
const lineBytes = 64;

/** The stored log lines of deployments and their invocations. */
export class AppLogStore {
  readonly #database: Database;
  readonly #rows: Table<typeof appLogsTable>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Table(database, appLogsTable);
  }

  /** The time of the newest line; 0 if there is none. */
  newest(): number {
    return (this.#database.prepare('SELECT ifnull(max(at), 0) AS at FROM app_logs').get() as { at: number }).at;
  }

  add(source: LogSource, lines: LogLine[]): void {
    inTransaction(this.#database, () => {
      for (const line of lines) this.#rows.insert({ ...source, ...line });
    });
  }

  /** The first lines from a time on, at most `count`. A deployment's lines include those of its invocations. */
  read({ deploymentId, invocationId }: LogSource, from: number, count: number): LogLine[] {
    const writer = invocationId === undefined ? { deploymentId } : { invocationId };
    return this.#rows.list({ ...writer, at: { from } }, { order: 'at', limit: count });
  }

  /** The approximate size of a deployment's lines, in bytes. */
  size(deploymentId: string): number {
    const sum = `SELECT ifnull(sum(length(message) + ${lineBytes}), 0) AS bytes FROM app_logs WHERE deployment_id = ?`;
    return (this.#database.prepare(sum).get(deploymentId) as { bytes: number }).bytes;
  }

  /**
   * Deletes up to `count` of a deployment's oldest lines, and replaces the last of them by `notice`. Returns the freed
   * bytes.
   */
  deleteOldest(deploymentId: string, count: number, notice: string): number {
    const oldest = this.#database
      .prepare(
        `SELECT at, length(message) + ${lineBytes} AS bytes FROM app_logs WHERE deployment_id = ? ORDER BY at LIMIT ?`,
      )
      .all(deploymentId, count) as { at: number; bytes: number }[];
    const last = oldest.at(-1);
    if (!last) return 0;
    inTransaction(this.#database, () => {
      this.#rows.delete({ deploymentId, at: { below: last.at } });
      this.#rows.change({ at: last.at }, { message: notice });
    });
    return oldest.reduce((sum, { bytes }) => sum + bytes, 0) - notice.length - lineBytes;
  }

  /** Deletes the lines before `time`, in ms since the epoch. */
  deleteBefore(time: number): void {
    this.#rows.delete({ at: { below: time * 1000 } });
  }
}
