/** A duration such as `42 s`, `3 min`, `2 h 5 min` or `2 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes} min ${seconds % 60} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? both(hours, 'h', minutes % 60, 'min') : both(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** A number with its noun, such as `1 pool` or `2 pools`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Whether one of the texts contains all words of the query. */
export function matches(query: string, ...texts: (string | undefined)[]): boolean {
  const text = texts.join('\n').toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Puts the rows first of which a text equals the query, and those next of which a text contains it as written. */
export function bestFirst<T>(query: string, rows: T[], textsOf: (row: T) => (string | undefined)[]): T[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return rows;
  const rank = (row: T) => {
    const texts = textsOf(row).map((text = '') => text.toLowerCase());
    if (texts.some((text) => text === wanted || text.split(' › ').includes(wanted))) return 0;
    return texts.some((text) => text.includes(wanted)) ? 1 : 2;
  };
  return rows.toSorted((one, other) => rank(one) - rank(other));
}

/** The host and port of a machine, or `This machine`. */
export function machineName(id: string | undefined): string {
  if (id === undefined || id === 'local') return 'This machine';
  return URL.canParse(id) ? new URL(id).host : id;
}

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
