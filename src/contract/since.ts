import { z } from 'zod';

/** The units of durations, in microseconds. */
const unitMicroseconds: Record<string, number> = {
  ns: 0.001,
  us: 1,
  µs: 1,
  μs: 1,
  ms: 1e3,
  s: 1e6,
  m: 60e6,
  h: 3600e6,
};
const duration = /^(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/;
const timestamp = z.iso.datetime({ offset: true });
/** A date with or without a time. Without a zone it is in UTC. */
const date = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** The time from which to read: an RFC 3339 timestamp, a date, or a duration before now, for example `5m` or `1h30m`. */
export const since = z
  .string()
  .refine(
    (text) => sinceMicroseconds(text, 0) !== undefined,
    'must be an RFC 3339 timestamp, or a duration such as 5m or 1h30m',
  );

/**
 * The time that such a text means, in microseconds since the epoch, which is the resolution of logs. `undefined` for an
 * invalid text. `now` is in milliseconds.
 */
export function sinceMicroseconds(text: string, now: number): number | undefined {
  const iso = text
    .toUpperCase()
    .replace(date, (_, day, time = '00:00', seconds = ':00', zone = 'Z') => `${day}T${time}${seconds}${zone}`);
  if (timestamp.safeParse(iso).success) {
    const fraction = (/\.(\d+)/.exec(iso)?.[1] ?? '').padEnd(6, '0');
    return Math.floor(Date.parse(iso.replace(/\.\d+/, '')) / 1000) * 1e6 + Number(fraction.slice(0, 6));
  }
  let back = 0;
  let rest = text;
  for (let part = duration.exec(rest); part; part = duration.exec(rest)) {
    back += Number(part[1]) * unitMicroseconds[part[3]!]!;
    rest = rest.slice(part[0].length);
  }
  return text !== '' && rest === '' ? Math.round(now * 1000 - back) : undefined;
}
