/** The one clock of a service. Idle timeouts, expiry and grace periods read it, so that a test can move time. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once after `ms`, unless the returned function was called before. Never keeps the process alive. */
  after(ms: number, callback: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
