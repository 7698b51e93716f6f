import { idsPerMs, type NewAuditRow } from './audit-logs-table.ts';

/** How long refused requests are counted in one record. */
const windowMs = 60_000;
/** Kinds of refusals that are counted apart. Beyond that, those with the same status share a record. */
const mostKinds = 1000;

/** Finds the record in which a refused request without a key is counted, so that such requests can't fill the disk. */
export class Refusals {
  readonly #rows = new Map<string, NewAuditRow>();

  /**
   * The record of the same minute for requests like this one. It is `row` itself if there is none, or if it is no such
   * request.
   */
  recordFor(row: NewAuditRow): NewAuditRow {
    // Views with valid links have no key either.
    if (row.user_id !== '' || (row.service === 'pages' && row.status < 400)) return row;
    const { status, method, route, client_ip: clientIp } = row;
    const own = [clientIp, method, route, status].join(' ');
    if (!this.#rows.has(own) && this.#rows.size >= mostKinds) this.#forgetBefore(row.id);
    const kind = this.#rows.has(own) || this.#rows.size < mostKinds ? own : String(status);
    const counted = this.#rows.get(kind);
    if (counted && row.id - counted.id < windowMs * idsPerMs) return counted;
    this.#rows.set(kind, row);
    return row;
  }

  #forgetBefore(id: number): void {
    for (const [kind, counted] of this.#rows) if (id - counted.id >= windowMs * idsPerMs) this.#rows.delete(kind);
  }
}
