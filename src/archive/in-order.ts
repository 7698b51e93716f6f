/** `limit` is the largest total weight of running tasks. Default weight: 1 for each item. */
export type InOrderOptions<T> = { limit: number; weight?: (item: T) => number };

/**
 * Runs several tasks at the same time, and yields their results in the order of the items. A task heavier than the
 * limit runs alone. If the caller stops early, waits for the running tasks.
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  { limit, weight = () => 1 }: InOrderOptions<T>,
  task: (item: T) => Promise<R> | R,
): AsyncGenerator<R, void> {
  const started: { result: Promise<R>; weight: number }[] = [];
  let total = 0;
  const hasRoom = (itemWeight: number) => started.length === 0 || total + itemWeight <= limit;
  const oldest = async () => {
    const first = started.shift()!;
    total -= first.weight;
    return await first.result;
  };
  try {
    for await (const item of items) {
      const itemWeight = weight(item);
      while (!hasRoom(itemWeight)) yield await oldest();
      const result = Promise.resolve(task(item));
      // Awaited later. Until then a failure must not count as unhandled.
      result.catch(() => {});
      started.push({ result, weight: itemWeight });
      total += itemWeight;
    }
    while (started.length > 0) yield await oldest();
  } finally {
    await Promise.allSettled(started.map(({ result }) => result));
  }
}
