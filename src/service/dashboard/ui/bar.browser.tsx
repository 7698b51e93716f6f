export type BarPart = { kind: 'leased' | 'free' | 'starting'; count: number };

/**
 * Shows how many browsers of a pool or machine are leased, free and starting, as a bar. `size` is how many there may be.
 * Text beside it has the numbers.
 */
export function Bar({ parts, size }: { parts: BarPart[]; size: number }) {
  const total = Math.max(
    1,
    size,
    parts.reduce((sum, { count }) => sum + count, 0),
  );
  return (
    <div class="use" aria-hidden="true">
      {parts.map(({ kind, count }) => (
        <span key={kind} class={kind} style={{ width: `${(100 * count) / total}%` }}></span>
      ))}
    </div>
  );
}
