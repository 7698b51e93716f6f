import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { OperationError } from '../../../src/contract/errors.ts';
import { empty, json, octets, operation } from '../../../src/contract/operation.ts';
import { systemClock } from '../../../src/service/process/clock.ts';
import { createApp } from '../../../src/service/http/app.ts';
import type { HandlerTree } from '../../../src/service/http/handler.ts';
import { listen, type HttpServer } from '../../../src/service/http/server.ts';
import { test as base } from '../../support/worker.ts';

export const key = 'the-key';
/** The bytes of a download that no socket holds. */
export const all = 64 * 1024 * 1024;
export const fileSize = 3 * 1024 * 1024;

/** A contract that has one of each kind of request and answer, so that this layer is tested alone. */
const contract = {
  echo: operation('POST /things/{id}/echo', '', {
    query: z.strictObject({
      tags: z.record(z.string(), z.string()).optional(),
      methods: z.array(z.string()).optional(),
      text: z.string().optional(),
    }),
    body: z.strictObject({ a: z.int().default(1), map: z.record(z.string(), z.string()).optional() }).prefault({}),
    responses: { 200: json(z.unknown()) },
  }),
  get: operation('GET /things/{id}', '', { responses: { 200: json(z.unknown()) }, errors: [409] }),
  act: operation('POST /things/{id}/act', '', { responses: { 204: empty } }),
  put: operation('PUT /things/{id}', '', { responses: { 201: empty } }),
  remove: operation('DELETE /things/{id}', '', { responses: { 204: empty } }),
  poll: operation('POST /poll', '', { responses: { 200: json(z.unknown()), 204: empty } }),
  pollBytes: operation('GET /poll', '', { responses: { 200: octets() } }),
  download: operation('GET /bytes', '', { responses: { 200: octets() } }),
  downloadFile: operation('GET /file', '', { responses: { 200: octets() } }),
  downloadMore: operation('GET /more', '', { responses: { 200: octets() } }),
  downloadLess: operation('GET /less', '', { responses: { 200: octets() } }),
  upload: operation('PUT /bytes', '', { body: octets(), responses: { 200: json(z.unknown()) } }),
};

type Init = { body?: RequestInit['body']; headers?: Record<string, string>; duplex?: 'half' };

/** The events that the handlers saw. */
type Noticed = {
  aborts: number;
  polls: number;
  closedStreams: number;
  produced: number;
  finishPoll: (value?: object) => void;
};

type Fixtures = {
  server: HttpServer;
  noticed: Noticed;
  call: (method: string, path: string, init?: Init) => Promise<Response>;
  /** Opens a connection of its own and sends the head of a request with the key. */
  send: (request: string, headers?: string[], body?: string) => Socket;
  /** The arguments of each call of `console.error` so far, which prints nothing. */
  logged: unknown[][];
  bodyLimit: number | undefined;
};

/** The HTTP layer on a contract of its own. */
export const test = base.extend<Fixtures>({
  bodyLimit: [undefined, { option: true }],
  noticed: async ({}, use) => use({ aborts: 0, polls: 0, closedStreams: 0, produced: 0, finishPoll: () => {} }),
  server: async ({ noticed, bodyLimit }, use) => {
    const app = createApp({
      contract,
      handlers: handlersOf(noticed),
      clock: systemClock,
      callers: {
        identify: (token) =>
          token === key
            ? { id: 'key-1', name: 'test', email: 'key-1@example.com', projectId: undefined, isOfApp: false }
            : undefined,
        projectOf: () => 'project-1',
      },
      openapi: async () => ({ openapi: '3.1.0' }),
      ...(bodyLimit && { bodyLimit }),
    });
    const server = await listen({ fetch: app.fetch, port: 0, upgrade: (_, socket) => socket.destroy() });
    await use(server);
    server.stop();
    await server.drain();
  },
  send: async ({ server }, use) => {
    const sockets: Socket[] = [];
    await use((request, headers = [], body = '') => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      const lines = [`${request} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${key}`, ...headers];
      socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
      return socket;
    });
    for (const socket of sockets) socket.destroy();
  },
  logged: async ({}, use) => {
    const logged: unknown[][] = [];
    const original = console.error;
    console.error = (...parts) => logged.push(parts);
    await use(logged);
    console.error = original;
  },
  call: async ({ server }, use) => {
    await use((method, path, init) =>
      fetch(server.url + path, { method, ...init, headers: { authorization: `Bearer ${key}`, ...init?.headers } }),
    );
  },
});

function handlersOf(noticed: Noticed): HandlerTree<typeof contract> {
  return {
    echo: ({ params, query, body }) => ({ params, query, body }),
    get({ params }) {
      if (params.id === 'missing') throw new OperationError('not_found', 'no such thing');
      if (params.id === 'taken') throw new OperationError('conflict', 'taken');
      if (params.id === 'broken') throw new TypeError('secret internals');
      return params;
    },
    act() {
      throw new TypeError('broke off in the middle');
    },
    put: () => undefined,
    remove: () => undefined,
    poll: ({ signal }) => poll(noticed, signal),
    async pollBytes({ signal }) {
      await poll(noticed, signal);
      return { stream: bytes(noticed) };
    },
    download: () => ({ stream: bytes(noticed), size: all }),
    downloadFile: () => ({ stream: Readable.from(Array(48).fill(Buffer.alloc(fileSize / 48))), size: fileSize }),
    // As a file that grows while it is read.
    downloadMore: () => ({ stream: Readable.from([Buffer.from('abc'), Buffer.from('def')]), size: 4 }),
    downloadLess: () => ({ stream: Readable.from([Buffer.alloc(10)]), size: 20 }),
    async upload({ body }) {
      let size = 0;
      for await (const chunk of body) size += (chunk as Buffer).length;
      return { size };
    },
  };
}

function poll(noticed: Noticed, signal: AbortSignal): Promise<object | undefined> {
  noticed.polls += 1;
  signal.addEventListener('abort', () => (noticed.aborts += 1));
  return new Promise((resolve) => (noticed.finishPoll = resolve));
}

function bytes(noticed: Noticed): Readable {
  const stream = new Readable({
    read() {
      noticed.produced += 64 * 1024;
      this.push(noticed.produced > all ? null : Buffer.alloc(64 * 1024, noticed.produced / 65536));
    },
  });
  return stream.on('close', () => (noticed.closedStreams += 1));
}
