/**
 * The clock of a service. Expiry times use it, and so do the timeouts of sessions, pools and logins, so that a test can pass
 * its own clock and move time. Timeouts of connections and child processes use Node's timers.
 */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once after `ms`, unless the returned function is called before. Doesn't keep the process alive. */
  after(ms: number, callback: () => void): () => void;
};

/** The longest that a timer of Node can wait, in ms: about 25 days. */
const longestTimer = 2 ** 31 - 1;

/** The clock of the operating system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    if (ms > longestTimer) {
      let cancel = systemClock.after(longestTimer, () => (cancel = systemClock.after(ms - longestTimer, callback)));
      return () => cancel();
    }
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** A clock that runs like that of the operating system and begins at `start`, in ms since the epoch. */
export function clockFrom(start: number): Clock {
  const startedAt = performance.now();
  return { ...systemClock, now: () => Math.round(start + performance.now() - startedAt) };
}
