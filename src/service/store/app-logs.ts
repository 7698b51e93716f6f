import { inTransaction, type Database } from './database.ts';

/** Who wrote a line: a deployment, or one of its invocations. */
type Source = { deploymentId: string; invocationId?: string | undefined };

/** `at` is in microseconds since the epoch, and no other line's. */
type Line = { at: number; message: string };

/** What a line takes besides its text, in bytes; about. */
const lineBytes = 64;

/** What deployments and their invocations wrote. */
export class AppLogStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The time of the newest line, 0 without any. */
  newest(): number {
    return (this.#database.prepare('SELECT ifnull(max(at), 0) AS at FROM app_logs').get() as { at: number }).at;
  }

  add({ deploymentId, invocationId }: Source, lines: Line[]): void {
    const insert = this.#database.prepare('INSERT INTO app_logs (at, deployment_id, invocation_id, message) VALUES (?, ?, ?, ?)');
    inTransaction(this.#database, () => {
      for (const { at, message } of lines) insert.run(at, deploymentId, invocationId ?? null, message);
    });
  }

  /** The first lines from a time on, at most `count`. Those of a deployment have those of its invocations among them. */
  read({ deploymentId, invocationId }: Source, from: number, count: number): Line[] {
    const [column, id] = invocationId === undefined ? ['deployment_id', deploymentId] : ['invocation_id', invocationId];
    return this.#database
      .prepare(`SELECT at, message FROM app_logs WHERE ${column} = ? AND at >= ? ORDER BY at LIMIT ?`)
      .all(id, from, count) as Line[];
  }

  /** About how many bytes a deployment's lines take. */
  size(deploymentId: string): number {
    const sum = `SELECT ifnull(sum(length(message) + ${lineBytes}), 0) AS bytes FROM app_logs WHERE deployment_id = ?`;
    return (this.#database.prepare(sum).get(deploymentId) as { bytes: number }).bytes;
  }

  /** Deletes a deployment's oldest lines, at most `count`, and leaves `notice` in place of the last of them; the bytes that are gone. */
  deleteOldest(deploymentId: string, count: number, notice: string): number {
    const oldest = this.#database
      .prepare(`SELECT at, length(message) + ${lineBytes} AS bytes FROM app_logs WHERE deployment_id = ? ORDER BY at LIMIT ?`)
      .all(deploymentId, count) as { at: number; bytes: number }[];
    const last = oldest.at(-1);
    if (!last) return 0;
    inTransaction(this.#database, () => {
      this.#database.prepare('DELETE FROM app_logs WHERE deployment_id = ? AND at < ?').run(deploymentId, last.at);
      this.#database.prepare('UPDATE app_logs SET message = ? WHERE at = ?').run(notice, last.at);
    });
    return oldest.reduce((sum, { bytes }) => sum + bytes, 0) - notice.length - lineBytes;
  }

  /** Deletes the lines from before `time`, in ms since the epoch. */
  deleteBefore(time: number): void {
    this.#database.prepare('DELETE FROM app_logs WHERE at < ?').run(time * 1000);
  }
}
