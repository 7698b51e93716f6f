import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { sendEvents } from '../../../src/service/http/answers/event-answer.ts';
import { serve } from '../../support/http/serve.ts';
import { TestClock } from '../../support/service/clock.ts';
import { expect, test as base } from '../../support/worker.ts';

type Stream = { response: IncomingMessage; text: () => string; hangUp: () => void };

const test = base.extend<{ clock: TestClock; open: (events: AsyncIterable<unknown>) => Promise<Stream> }>({
  clock: async ({}, use) => use(new TestClock()),
  /** Opens a stream of these events. */
  open: async ({ clock }, use) => {
    const app = new Hono<{ Bindings: HttpBindings }>();
    let offered: AsyncIterable<unknown>;
    app.get('/', (context) => sendEvents(context, 200, offered, { clock }));
    app.onError(() => RESPONSE_ALREADY_SENT);
    const respond = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    await using server = await serve((request, response) => void respond(request, response));
    await use(async (events) => {
      offered = events;
      const request = get(server.url, { agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => {});
      return { response, text: () => text, hangUp: () => request.destroy() };
    });
  },
});

/** Events that can be given one by one. */
class Source implements AsyncIterableIterator<unknown> {
  asked = 0;
  returned = false;
  #give: (result: IteratorResult<unknown>) => void = () => {};
  #fail: (error: Error) => void = () => {};

  next(): Promise<IteratorResult<unknown>> {
    this.asked += 1;
    return new Promise((resolve, reject) => {
      this.#give = resolve;
      this.#fail = reject;
    });
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.returned = true;
    return { done: true, value: undefined };
  }

  give(value: unknown): void {
    this.#give({ value });
  }

  end(): void {
    this.#give({ done: true, value: undefined });
  }

  fail(error: Error): void {
    this.#fail(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

test('an event stream sends its head at once, a line per event, and ends with its source', async ({ open, clock }) => {
  const source = new Source();
  const { response, text } = await open(source);
  expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  source.give({ text: 'one\ntwo' });
  await expect.poll(text).toBe('data: {"text":"one\\ntwo"}\n\n');
  await expect.poll(() => source.asked).toBe(2);
  source.end();
  await expect.poll(() => response.complete).toBe(true);
  expect(clock.pending()).toEqual([]);
});

test('an event stream without events sends a heartbeat every 15 s', async ({ open, clock }) => {
  const source = new Source();
  const { text, response } = await open(source);
  clock.advance(14_999);
  clock.advance(1);
  await expect.poll(text).toBe(':\n\n');
  clock.advance(15_000);
  await expect.poll(text).toBe(':\n\n:\n\n');
  source.end();
  await expect.poll(() => response.complete).toBe(true);
  expect(clock.pending()).toEqual([]);
});

test('an event stream breaks off if its source fails', async ({ open, clock }) => {
  const source = new Source();
  const { response } = await open(source);
  source.fail(new Error('lost'));
  await expect.poll(() => response.destroyed).toBe(true);
  expect(response.complete).toBe(false);
  expect(clock.pending()).toEqual([]);
});

test("an event stream's source ends when the caller hangs up", async ({ open, clock }) => {
  const source = new Source();
  const { hangUp } = await open(source);
  source.give(1);
  await expect.poll(() => source.asked).toBe(2);
  hangUp();
  await expect.poll(() => clock.pending()).toEqual([]);
  source.give(2);
  await expect.poll(() => source.returned).toBe(true);
  expect(source.asked).toBe(2);
});
