export type BarPart = { kind: 'leased' | 'free' | 'starting'; count: number };

const most = 40;

/** Shows how many browsers of a pool or machine are used, as a bar. Text beside it has the numbers. */
export function Bar({ parts, size }: { parts: BarPart[]; size: number }) {
  const total = Math.max(
    1,
    size,
    parts.reduce((sum, { count }) => sum + count, 0),
  );
  return (
    <div class="use" aria-hidden="true" data-fine={total > most}>
      {parts.map(({ kind, count }) => (
        <span key={kind} class={kind} style={{ width: `${(100 * count) / total}%` }}></span>
      ))}
    </div>
  );
}
