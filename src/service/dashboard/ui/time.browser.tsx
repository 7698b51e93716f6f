import { serviceNow } from '../app/store.browser.ts';
import { duration } from './format.browser.ts';

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

/** A size such as `1.5 MB`. */
export function bytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  const value = size / 1000 ** power;
  return `${power > 0 && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}
