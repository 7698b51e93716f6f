/** Returns a function that runs the actions given to it strictly one after another, in the order of the calls. */
export function oneAtATime(): <T>(action: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (action) => {
    const result = last.then(action);
    last = result.catch(() => {});
    return result;
  };
}
