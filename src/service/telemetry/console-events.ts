import type { CdpEvent } from '../chromium/cdp/cdp-protocol.ts';

type ConsoleEvent = Extract<CdpEvent, { method: 'Runtime.consoleAPICalled' | 'Runtime.exceptionThrown' }>;
type RemoteObject = Extract<CdpEvent, { method: 'Runtime.consoleAPICalled' }>['params']['args'][number];

const mostArguments = 50;

/** Turns a call of `console` or an uncaught exception into the type and the data of a telemetry event. */
export function consoleEvent(event: ConsoleEvent): { type: string; data: Record<string, unknown> } {
  if (event.method === 'Runtime.exceptionThrown') {
    const { text, exception, lineNumber, columnNumber, url, stackTrace } = event.params.exceptionDetails;
    const data = {
      text: exception?.description ?? text,
      line: lineNumber,
      column: columnNumber,
      ...(url !== undefined && { source_url: url }),
      ...(stackTrace && { stack_trace: stackTrace }),
    };
    return { type: 'console_error', data };
  }
  const { type, args, stackTrace } = event.params;
  const texts = args.slice(0, mostArguments).map(textOf);
  const data = { level: type, text: texts[0] ?? '', args: texts, ...(stackTrace && { stack_trace: stackTrace }) };
  return { type: type === 'error' ? 'console_error' : 'console_log', data };
}

function textOf({ value, unserializableValue, description, type }: RemoteObject): string {
  if (typeof value === 'string') return value;
  if (value !== undefined) return JSON.stringify(value) ?? '';
  return unserializableValue ?? description ?? type;
}
