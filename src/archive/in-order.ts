/** How much of it may be under way at once, in the unit of `weight`, which is 1 for each item by default. */
export type InOrderOptions<T> = { limit: number; weight?: (item: T) => number };

/**
 * Yields what `task` makes of each item, in the items' order, with several tasks at work. An item heavier than the limit has its turn alone.
 * Whoever stops early waits for the tasks that have been started.
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
      // It is awaited in its turn; until then a failure is not an unhandled one.
      result.catch(() => {});
      started.push({ result, weight: itemWeight });
      total += itemWeight;
    }
    while (started.length > 0) yield await oldest();
  } finally {
    await Promise.allSettled(started.map(({ result }) => result));
  }
}
