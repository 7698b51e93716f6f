import { auditLogsTable, idsPerMs } from './audit-logs-table.ts';

/** Selects records. Times are in ms since the epoch, `end` is exclusive. */
export type AuditFilter = {
  start: number;
  end: number;
  authStrategy?: string | undefined;
  service?: string | undefined;
  method?: string | undefined;
  excludeMethods?: string[] | undefined;
  /** Words that must all occur in the path, user id, e-mail, client IP or status. Ignores case. */
  search?: string | undefined;
  /** Users whose records are found in addition to those that `search` finds. */
  userIds?: string[] | undefined;
};

/** The columns that answers show. */
const columns = Object.keys(auditLogsTable.columns).filter((column) => column !== 'service');

/**
 * The most trigrams (parts of three characters) of the search words that the full-text index looks up. More don't make
 * a search faster: the rows that they find are compared with the words anyway.
 */
const mostTrigrams = 50;

/**
 * The statement that finds the newest `:count` records, or the newest ones before the record `before`. Each way to
 * match has a statement of its own, which stops after `:count` rows, so that no statement sorts all matches.
 */
export function auditQuery(
  filter: AuditFilter,
  before: number | undefined,
): { sql: string; values: Record<string, unknown> } {
  const words = [...new Set(filter.search?.split(/\s+/).filter((word) => word !== ''))];
  const userIds = [...new Set(filter.userIds)];
  const match = matchExpression(words);
  const conditions = [
    filter.authStrategy !== undefined && 'auth_strategy = :authStrategy',
    filter.service !== undefined && 'service = :service',
    filter.method !== undefined && 'method = :method',
    filter.excludeMethods !== undefined && 'method NOT IN (SELECT value FROM json_each(:excludeMethods))',
  ].filter((condition) => condition !== false);
  const hasWords = 'NOT EXISTS (SELECT 1 FROM json_each(:words) WHERE instr(logs.text, lower(value)) = 0)';
  const found = (from: string, id: string, ...more: string[]) => {
    const where = [`${id} >= :start AND ${id} < :end`, ...conditions, ...more].join(' AND ');
    return `SELECT * FROM (SELECT ${id} AS id FROM ${from} WHERE ${where} ORDER BY ${id} DESC LIMIT :count)`;
  };

  const ways = userIds.map((_, index) => found('audit_logs logs', 'logs.id', `user_id = :user${index}`));
  if (words.length === 0 && userIds.length === 0) ways.push(found('audit_logs logs', 'logs.id'));
  else if (match !== undefined) ways.push(found(textsFirst, 'texts.rowid', 'audit_log_texts MATCH :match', hasWords));
  else if (words.length > 0) ways.push(found('audit_logs logs', 'logs.id', hasWords));
  return {
    sql: `SELECT ${columns.join(', ')} FROM (${ways.join(' UNION ')}) CROSS JOIN audit_logs USING (id) ORDER BY id DESC LIMIT :count`,
    values: {
      // The full-text index ignores a bound that isn't an integer. It would read all records down to it.
      start: BigInt(filter.start * idsPerMs),
      end: BigInt(Math.min(filter.end * idsPerMs, before ?? Infinity)),
      ...(filter.authStrategy !== undefined && { authStrategy: filter.authStrategy }),
      ...(filter.service !== undefined && { service: filter.service }),
      ...(filter.method !== undefined && { method: filter.method.toUpperCase() }),
      ...(filter.excludeMethods !== undefined && {
        excludeMethods: JSON.stringify(filter.excludeMethods.map(upperCased)),
      }),
      ...(words.length > 0 && { words: JSON.stringify(words) }),
      ...(match !== undefined && { match }),
      ...Object.fromEntries(userIds.map((userId, index) => [`user${index}`, userId])),
    },
  };
}

const textsFirst = 'audit_log_texts texts CROSS JOIN audit_logs logs ON logs.id = texts.rowid';

/** The query for the full-text index. The index holds all parts of three characters, so it can't find shorter words. */
function matchExpression(words: string[]): string | undefined {
  const trigrams = new Set(words.flatMap(trigramsOf));
  if (trigrams.size === 0) return undefined;
  return [...trigrams]
    .slice(0, mostTrigrams)
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
    .join(' AND ');
}

function trigramsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.slice(2).map((_, index) => characters.slice(index, index + 3).join(''));
}

function upperCased(text: string): string {
  return text.toUpperCase();
}
