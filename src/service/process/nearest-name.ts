/** The known name with the fewest edits from `name`. `undefined` if no name is known. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const distances = Array.from(known, (other) => ({ other, edits: edits(name.toLowerCase(), other.toLowerCase()) }));
  return distances.sort((a, b) => a.edits - b.edits)[0]?.other;
}

/** The Levenshtein distance. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
