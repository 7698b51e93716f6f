import { useEffect, useState } from 'preact/hooks';
import { serviceNow } from '../app/store.browser.ts';
import { duration } from './format.browser.ts';

/** Shows the time since a moment, such as `3 min 5 s`, and counts on each second. `since` is in ms since the epoch. */
export function Age({ since }: { since: number }) {
  useSeconds();
  return <time dateTime={new Date(since).toISOString()}>{duration(serviceNow() - since)}</time>;
}

/** A moment relative to now, such as `3 min ago`. Its title has the date. */
export function Moment({ at }: { at: string | null | undefined }) {
  if (!at) return <>–</>;
  const ms = serviceNow() - Date.parse(at);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} class="clip">
      {ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`}
    </time>
  );
}

const ticks = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Renders the component again each second. All components share one timer. */
function useSeconds(): void {
  const [, set] = useState(0);
  useEffect(() => {
    const tick = () => set((count) => count + 1);
    ticks.add(tick);
    ticking ??= setInterval(() => {
      if (!document.hidden) for (const each of ticks) each();
    }, 1000);
    return () => {
      ticks.delete(tick);
      if (ticks.size > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
}
