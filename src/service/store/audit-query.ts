/** Which records are meant. Times in ms since the epoch, `end` exclusive. */
export type AuditFilter = {
  start: number;
  end: number;
  authStrategy?: string | undefined;
  service?: string | undefined;
  method?: string | undefined;
  excludeMethods?: string[] | undefined;
  /** Words that all must be part of the path, user id, e-mail, client IP or status; upper and lower case are the same. */
  search?: string | undefined;
  /** Users whose records are found beside those that `search` finds. */
  userIds?: string[] | undefined;
};

/** An id is its record's time in ms, times this, and what tells it from others of the same ms. */
export const idsPerMs = 1024;

/** What is stored of a record beside its id. */
export const auditColumns = [
  'event_id',
  'auth_strategy',
  'user_id',
  'email',
  'status',
  'method',
  'path',
  'route',
  'domain',
  'duration_ms',
  'client_ip',
  'user_agent',
] as const;

/** More of them make a search no narrower, as rows are compared with the words, too. */
const mostTrigrams = 50;

/**
 * The statement that finds the newest `:count` records, of those older than the record `before` if it is given. Each way to match has a
 * statement of its own, which ends after `:count` rows: none has to sort all that match.
 */
export function auditQuery(filter: AuditFilter, before: number | undefined): { sql: string; values: Record<string, unknown> } {
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
    sql: `SELECT id, ${auditColumns.join(', ')} FROM (${ways.join(' UNION ')}) CROSS JOIN audit_logs USING (id) ORDER BY id DESC LIMIT :count`,
    values: {
      // Of a bound that is no integer the full-text index takes no notice: it would walk down to it from the newest record.
      start: BigInt(filter.start * idsPerMs),
      end: BigInt(Math.min(filter.end * idsPerMs, before ?? Infinity)),
      ...(filter.authStrategy !== undefined && { authStrategy: filter.authStrategy }),
      ...(filter.service !== undefined && { service: filter.service }),
      ...(filter.method !== undefined && { method: filter.method.toUpperCase() }),
      ...(filter.excludeMethods !== undefined && { excludeMethods: JSON.stringify(filter.excludeMethods.map(upperCased)) }),
      ...(words.length > 0 && { words: JSON.stringify(words) }),
      ...(match !== undefined && { match }),
      ...Object.fromEntries(userIds.map((userId, index) => [`user${index}`, userId])),
    },
  };
}

const textsFirst = 'audit_log_texts texts CROSS JOIN audit_logs logs ON logs.id = texts.rowid';

/** What the full-text index is asked: it knows each text by all its parts of three characters. Words that are shorter it cannot find. */
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
