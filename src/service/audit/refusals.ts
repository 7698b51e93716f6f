import { idsPerMs, type NewAuditRow } from './audit-logs-table.ts';

/** How long refused requests are counted in one record, in ms. */
const windowMs = 60_000;
/**
 * The most kinds of refused requests that have a record each. A kind is a combination of address, method, route and
 * status. Requests of further kinds share a record if they have the same status.
 */
const mostKinds = 1000;

/** Finds the record in which a refused request without a key is counted, so that such requests can't fill the disk. */
export class Refusals {
  readonly #rows = new Map<string, NewAuditRow>();

  /**
   * Returns the record that counts refused requests of the same kind, if it is at most a minute old. Returns `row` if
   * there is none, or if the request has a key or isn't refused.
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
