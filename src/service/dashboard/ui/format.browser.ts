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

/** A size such as `1.5 MB`. */
export function bytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  const value = size / 1000 ** power;
  return `${power > 0 && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
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

/**
 * The rows whose texts contain all words of the query. First come those of which a name equals the query, and then those
 * of which a name contains it as written.
 */
export function search<T>(
  query: string,
  rows: T[],
  namesOf: (row: T) => (string | undefined)[],
  othersOf: (row: T) => (string | undefined)[] = () => [],
): T[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return rows;
  const rank = (row: T) => {
    const names = namesOf(row).map((name = '') => name.toLowerCase());
    if (names.some((name) => name === wanted || name.split(' › ').includes(wanted))) return 0;
    return names.some((name) => name.includes(wanted)) ? 1 : 2;
  };
  return rows
    .filter((row) => matches(query, ...namesOf(row), ...othersOf(row)))
    .toSorted((one, other) => rank(one) - rank(other));
}

/** The host and port of a machine, or `This machine`. */
export function machineName(id: string | undefined): string {
  if (id === undefined || id === 'local') return 'This machine';
  return URL.canParse(id) ? new URL(id).host : id;
}

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
