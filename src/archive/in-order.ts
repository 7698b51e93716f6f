/** `limit` is the largest total weight of the tasks that run at the same time. Default weight: 1 for each item. */
export type InOrderOptions<T> = { limit: number; weight?: (item: T) => number };

/**
 * Runs a task for each item, several at the same time, and yields the results in the order of the items. A task heavier
 * than the limit runs alone. If the caller stops early, waits for the running tasks.
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
      // Awaited later. Without a handler, a failure before that would end the process.
      result.catch(() => {});
      started.push({ result, weight: itemWeight });
      total += itemWeight;
    }
    while (started.length > 0) yield await oldest();
  } finally {
    await Promise.allSettled(started.map(({ result }) => result));
  }
}
