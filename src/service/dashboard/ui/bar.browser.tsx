/**
 * Shows how many browsers of a pool or machine are leased, starting and free, as a bar. `size` is how many there may be.
 * Text beside it has the numbers.
 */
export function Bar({ size, ...counts }: { size: number; leased: number; starting?: number; free: number }) {
  const { leased, starting = 0, free } = counts;
  const total = Math.max(1, size, leased + starting + free);
  return (
    <div class="use" aria-hidden="true">
      {Object.entries({ leased, starting, free }).map(([kind, count]) => (
        <span key={kind} class={kind} style={{ width: `${(100 * count) / total}%` }}></span>
      ))}
    </div>
  );
}
