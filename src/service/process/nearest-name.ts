import leven from 'leven';

/** The known name with the fewest edits from `name`. `undefined` if no name is known. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const distances = Array.from(known, (other) => ({ other, edits: leven(name.toLowerCase(), other.toLowerCase()) }));
  return distances.sort((a, b) => a.edits - b.edits)[0]?.other;
}
