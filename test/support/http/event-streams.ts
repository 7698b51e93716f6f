import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expectConformance } from '../service/conformance.ts';

/** An event stream of a service, read with Node's own HTTP client. */
export type ReadStream<T> = {
  response: IncomingMessage;
  /** The received text. */
  events: T[];
  /** Resolves when the service ends the stream, rejects when the stream breaks off. */
  ended: Promise<unknown>;
  /** Hangs up. */
  close: () => void;
};

/** Opens an event stream and resolves with its headers. Checks every event against the contract. */
export async function openStream<T>(service: { url: string; apiKey: string }, path: string): Promise<ReadStream<T>> {
  const request = get(`${service.url}${path}`, {
    agent: false,
    headers: { authorization: `Bearer ${service.apiKey}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const events: T[] = [];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const end = text.lastIndexOf('\n\n');
    if (end === -1) return;
    const complete = text.slice(0, end + 2);
    text = text.slice(complete.length);
    const headers = new Headers(response.headers as Record<string, string>);
    expectConformance({ method: 'GET', path, status: response.statusCode!, headers, text: complete });
    for (const [, data] of complete.matchAll(/^data: (.*)$/gm)) events.push(JSON.parse(data!) as T);
  });
  const ended = once(response, 'end');
  ended.catch(() => {});
  return { response, events, ended, close: () => request.destroy() };
}
