import { OperationError } from '../../contract/errors.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Database } from '../database/database.ts';
import { contains, type NewRowOf, Table } from '../database/table.ts';
import { type ConnectionRecord, connectionsTable, eventsTable, type TimelineEntry } from './connections-table.ts';

type Filter = {
  projectId: string;
  limit: number;
  offset: number;
  profileName?: string | undefined;
  domain?: string | undefined;
  query?: string | undefined;
};

/** The stored auth connections of all projects, and their timelines. They hold nothing that was entered in a form. */
export class ConnectionRecords {
  readonly #rows: Table<typeof connectionsTable>;
  readonly #events: Table<typeof eventsTable>;

  constructor(database: Database) {
    this.#rows = new Table(database, connectionsTable);
    this.#events = new Table(database, eventsTable);
  }

  /** Throws `already_exists` if the profile has a connection to the domain. */
  add(connection: NewRowOf<typeof connectionsTable>): ConnectionRecord {
    const { projectId, profileName, domain } = connection;
    const existing = this.#rows.find({ projectId, profileName, domain });
    if (!existing) return this.#rows.insert(connection);
    const message = `the profile ${profileName} has an auth connection to ${domain} already: use or delete that one`;
    throw new OperationError('already_exists', message, { existingId: existing.id });
  }

  /** Does nothing if there is no such connection any more. */
  change(
    id: string,
    changes: Partial<Omit<ConnectionRecord, 'id' | 'projectId' | 'profileName' | 'domain' | 'createdAt'>>,
  ): void {
    this.#rows.change({ id }, changes);
  }

  get(id: string): ConnectionRecord | undefined {
    return this.#rows.find({ id });
  }

  all(): ConnectionRecord[] {
    return this.#rows.list({}, { order: 'created_at, rowid' });
  }

  /** Newest first. `query` is part of the id, domain or profile name. The other filters are exact. */
  list<T>({ projectId, profileName, domain, ...page }: Filter, toItem: (row: ConnectionRecord) => T): ListPage<T> {
    const search = [contains('id'), contains('domain'), contains('profile_name')].join(' OR ');
    return this.#rows.page(
      { projectId, profileName, domain },
      { ...page, search, order: 'created_at DESC, rowid DESC' },
      toItem,
    );
  }

  countOf(projectId: string): number {
    return this.#rows.count({ projectId });
  }

  /** Deletes the connection and its timeline. */
  delete(id: string): void {
    this.#rows.delete({ id });
  }

  /**
   * Adds an entry to the timeline, or replaces the details of the entry with the same id. Does nothing if there is no
   * such connection any more.
   */
  note(entry: TimelineEntry): void {
    const { id, connectionId, details } = entry;
    if (this.#events.change({ id }, { details }) === 0 && this.get(connectionId)) this.#events.insert(entry);
  }

  /** Newest first. */
  timeline<T>(
    connectionId: string,
    { type, ...page }: { type?: TimelineEntry['type'] | undefined; limit: number; offset: number },
    toItem: (entry: TimelineEntry) => T,
  ): ListPage<T> {
    return this.#events.page({ connectionId, type }, { ...page, order: 'rowid DESC' }, toItem);
  }

  /** Deletes the entries before `time`. */
  deleteBefore(time: number): void {
    this.#events.delete({ at: { below: time } });
  }
}
