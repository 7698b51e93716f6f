import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts';
import { serve } from '../support/http/serve.ts';
import { test as base } from '../support/worker.ts';

export const apiKey = 'sk_test_0123456789abcdef';

export type RecordedCall = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** The server's answer, or a function that reads the request's body and answers by itself. */
export type ScriptedAnswer =
  | { status?: number; headers?: Record<string, string>; json?: unknown; text?: string }
  | ((request: IncomingMessage, response: ServerResponse) => unknown);

export type RecordingServer = { url: string; server: Server; calls: RecordedCall[]; connections: number };

type Fixtures = {
  /** Starts a server that gives these answers in turn, the last one for ever. */
  serve: (...answers: ScriptedAnswer[]) => Promise<RecordingServer>;
  /** A client of the server, closed at the end of the test. */
  connect: (server: { url: string }, options?: Partial<ClientOptions>) => Client;
};

export const test = base.extend<Fixtures>({
  serve: async ({}, use) => {
    const servers: { server: Server; serving: AsyncDisposable }[] = [];
    await use(async (...answers) => {
      const server = createServer();
      const serving = await serve(server);
      servers.push({ server, serving });
      const recording: RecordingServer = { url: serving.url, server, calls: [], connections: 0 };
      server.on('connection', () => recording.connections++);
      server.on('request', (request, response) => void give(answers, recording, request, response));
      return recording;
    });
    for (const { server, serving } of servers) if (server.listening) await serving[Symbol.asyncDispose]();
  },
  connect: async ({}, use) => {
    const clients: Client[] = [];
    await use((server, options) => {
      const client = createClient({ baseURL: server.url, apiKey, ...options });
      clients.push(client);
      return client;
    });
    for (const client of clients) await client.close();
  },
});

async function give(
  answers: ScriptedAnswer[],
  { calls }: RecordingServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A control plane of another test may still look for a machine that had this port before.
  const { authorization = '' } = request.headers;
  if (authorization !== '' && !authorization.endsWith(apiKey)) return void response.writeHead(401).end();
  const answer = answers[Math.min(calls.length, answers.length - 1)]!;
  const call = { method: request.method!, url: request.url!, headers: request.headers, body: '' };
  calls.push(call);
  request.on('error', () => {});
  if (typeof answer === 'function') return void answer(request, response);
  call.body = (await buffer(request).catch(() => 'aborted')).toString();
  const { status = 200, headers, json, text } = answer;
  if (json !== undefined) response.setHeader('content-type', 'application/json');
  response.writeHead(status, headers).end(json === undefined ? text : JSON.stringify(json));
}

/** Answers with an event stream of these texts, and leaves the rest to `then`. */
export function eventStream(
  texts: string[],
  then: (response: ServerResponse) => unknown = (response) => response.end(),
): ScriptedAnswer {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders();
    for (const text of texts) response.write(text);
    then(response);
  };
}

/** Ends a connection in the middle of an answer. */
export function breakOff(response: ServerResponse): void {
  setImmediate(() => response.destroy());
}

/** The error that a promise rejects with. */
export async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('expected a rejection');
    },
    (error: unknown) => error,
  );
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
