import { format } from 'node:util';
import type { Clock } from './clock.ts';

export type LogFormat = 'text' | 'json';
/** The values of a log event: ids, names, numbers and messages. Never a key, a token or a URL of a page. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;
/** Logs an event of the service, such as `session_started`. */
export type Log = (event: string, fields?: LogFields) => void;

/** A log that drops all events. */
export const noLog: Log = () => {};

/** A log that writes one line for each event, as text or as JSON. */
export function lineLog(write: (line: string) => void, form: LogFormat, clock: Clock): Log {
  return (event, fields = {}) => {
    const time = new Date(clock.now()).toISOString();
    if (form === 'json') return write(`${JSON.stringify({ time, event, ...fields })}\n`);
    const told = Object.entries(fields).filter(([, value]) => value !== undefined);
    write(`${[time, event, ...told.map(([name, value]) => `${name}=${quoted(String(value))}`)].join(' ')}\n`);
  };
}

/** Turns calls of `console.error` into log events, so that each line of the log has the same form. */
export function logConsole(log: Log): void {
  console.error = (...parts: unknown[]) => log('error', { message: format(...parts) });
}

function quoted(text: string): string {
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text);
}
