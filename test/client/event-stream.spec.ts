import type { RequestListener, ServerResponse } from 'node:http';
import { expect } from '@playwright/test';
import { CallTimeoutError, ConnectionError, NotFoundError, ServiceError } from '../../src/client/index.ts';
import type { FileEvent } from '../../src/client/index.ts';
import { collect, errorOf, eventStream, test } from './recording-server.ts';

const event = (index: number): FileEvent => ({ type: 'CREATE', path: `/${index}`, name: String(index), is_dir: false });
const frame = (index: number) => `data: ${JSON.stringify(event(index))}\n\n`;

/** Answers with the head of an event stream and these texts, and leaves the rest to `then`. */
function stream(texts: string[], then: (response: ServerResponse) => unknown = (response) => response.end()) {
  return eventStream(texts, (response) => {
    open.add(response.once('close', () => open.delete(response)));
    then(response);
  });
}

/** The streams that are open at the service. */
const open = new Set<ServerResponse>();

const never = () => {};

test('delivers events as they arrive, until the stream ends', async ({ serve, connect }) => {
  const long = { ...event(4), path: 'x'.repeat(8 * 1024 * 1024) };
  const server = await serve(
    stream([
      ':\n\n',
      frame(1) + frame(2),
      ': still there\n\n',
      'id: 7\nevent: any\n' + frame(3),
      `data: ${JSON.stringify(long)}\n\n`,
    ]),
  );
  const { watch } = connect(server).browsers.fs;
  expect(await collect(watch.events('a', 'w'))).toEqual([event(1), event(2), event(3), long]);
  expect(server.calls).toMatchObject([
    { method: 'GET', url: '/browsers/a/fs/watch/w/events', headers: { accept: 'text/event-stream' } },
  ]);
});

test('joins an event that arrives in pieces, and ignores an unfinished one at the end', async ({ serve, connect }) => {
  const grüße = `data: ${JSON.stringify({ ...event(1), path: '/grüße' })}\r\n\r\n`;
  const bytes = Buffer.from(grüße);
  const server = await serve(
    eventStream([], (response) => {
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end('data: {"type":"CREATE","path":"/cut');
    }),
  );
  expect(await collect(connect(server).browsers.fs.watch.events('a', 'w'))).toEqual([{ ...event(1), path: '/grüße' }]);
});

test('opens the stream when the first event is requested, and anew for each iteration', async ({ serve, connect }) => {
  const server = await serve(stream([frame(1)]));
  const events = connect(server).browsers.fs.watch.events('a', 'w');
  expect(server.calls).toHaveLength(0);
  expect(await collect(events)).toEqual(await collect(events));
  expect(server.calls).toHaveLength(2);
});

test('leaving the loop over a stream closes its connection', async ({ serve, connect }) => {
  const server = await serve(stream([frame(1), frame(2)], never));
  const { watch } = connect(server).browsers.fs;
  for await (const first of watch.events('a', 'w')) {
    expect(first).toEqual(event(1));
    break;
  }
  await expect.poll(() => open.size).toBe(0);
  const failing = async () => {
    for await (const first of watch.events('a', 'w')) throw new Error(`${first.path} is wrong`);
  };
  await expect(failing()).rejects.toThrow('/1 is wrong');
  await expect.poll(() => open.size).toBe(0);
});

test('return() ends an iteration that waits for an event', async ({ serve, connect }) => {
  const server = await serve(stream([frame(1)], never));
  const events = connect(server).browsers.fs.watch.events('a', 'w')[Symbol.asyncIterator]();
  expect(await events.next()).toEqual({ done: false, value: event(1) });
  const waiting = events.next();
  await events.return!();
  expect(await waiting).toEqual({ done: true, value: undefined });
  await expect.poll(() => open.size).toBe(0);
});

test('return() closes a stream that is just opening', async ({ serve, connect }) => {
  let answer: () => void;
  const server = await serve((request, response) => {
    answer = () => (stream([frame(1)], never) as RequestListener)(request, response);
  });
  const events = connect(server).browsers.fs.watch.events('a', 'w')[Symbol.asyncIterator]();
  const opening = events.next();
  await expect.poll(() => server.calls.length).toBe(1);
  const stopping = events.return!();
  answer!();
  await stopping;
  expect(await opening).toEqual({ done: true, value: undefined });
  await expect.poll(() => open.size).toBe(0);
});

test('a signal aborts a stream that opens or waits, and has no effect after the end', async ({ serve, connect }) => {
  const server = await serve(never, stream([frame(1)], never), stream([frame(1)]));
  const { watch } = connect(server).browsers.fs;
  const opening = new AbortController();
  const opened = errorOf(collect(watch.events('a', 'w', { signal: opening.signal })));
  await expect.poll(() => server.calls.length).toBe(1);
  opening.abort(new Error('enough'));
  expect(await opened).toMatchObject({ message: 'enough' });

  const waiting = new AbortController();
  const events = watch.events('a', 'w', { signal: waiting.signal })[Symbol.asyncIterator]();
  await events.next();
  const next = errorOf(events.next());
  waiting.abort(new Error('enough'));
  expect(await next).toMatchObject({ message: 'enough' });
  await expect.poll(() => open.size).toBe(0);

  const late = new AbortController();
  expect(await collect(watch.events('a', 'w', { signal: late.signal }))).toHaveLength(1);
  late.abort();
});

test('a stream must open within the call timeout, and may be silent afterwards', async ({ serve, connect }) => {
  const server = await serve(
    stream([frame(1)], (response) => setTimeout(() => response.end(frame(2)), 1200)),
    never,
  );
  const { watch } = connect(server, { callTimeout: 500 }).browsers.fs;
  expect(await collect(watch.events('a', 'w'))).toEqual([event(1), event(2)]);
  expect(await errorOf(collect(watch.events('a', 'w')))).toBeInstanceOf(CallTimeoutError);
});

test('a broken stream delivers its events, then throws a ConnectionError', async ({ serve, connect }) => {
  const server = await serve(stream([frame(1)], (response) => setTimeout(() => response.destroy(), 50)));
  const seen: FileEvent[] = [];
  const read = async () => {
    for await (const item of connect(server).browsers.fs.watch.events('a', 'w')) seen.push(item);
  };
  expect(await errorOf(read())).toBeInstanceOf(ConnectionError);
  expect(seen).toEqual([event(1)]);
  expect(server.calls).toHaveLength(1);
});

test('throws a typed error if the answer is not an event stream', async ({ serve, connect }) => {
  const json = { 'content-type': 'application/json' };
  const server = await serve(
    { status: 404, json: { code: 'not_found', message: 'watch not found' } },
    (_, response) => {
      open.add(response.once('close', () => open.delete(response)));
      response.writeHead(200, json).write('{');
    },
    stream(['data: no json\n\n']),
    stream(['data: ' + 'x'.repeat(17 * 1024 * 1024)], never),
    { status: 503, headers: { ...json, 'retry-after': '0' }, text: '{"code":"unavailable","message":"not yet"}' },
    stream([frame(1)]),
  );
  const { watch } = connect(server).browsers.fs;
  const failure = () => errorOf(collect(watch.events('a', 'w')));
  expect(await failure()).toBeInstanceOf(NotFoundError);
  expect(await failure()).toMatchObject({
    code: 'invalid_answer',
    message: expect.stringContaining('not an event stream: its content type is application/json'),
  });
  const invalid = await failure();
  expect(invalid).toBeInstanceOf(ServiceError);
  expect(invalid).toMatchObject({ code: 'invalid_answer', message: expect.stringContaining('an event is not JSON') });
  expect(await failure()).toMatchObject({ code: 'invalid_answer', message: expect.stringContaining('longer than') });
  await expect.poll(() => open.size).toBe(0);
  // The opening is a call like others.
  expect(await collect(watch.events('a', 'w'))).toEqual([event(1)]);
});

test("the service stops sending events while the caller doesn't read them", async ({ serve, connect }) => {
  let sent = 0;
  const server = await serve(
    stream([], (response) => {
      const more = () => {
        while (!response.destroyed && response.write(`data: ${JSON.stringify('x'.repeat(100_000))}\n\n`)) sent += 1;
      };
      response.on('drain', more);
      more();
    }),
  );
  const events = connect(server).browsers.fs.watch.events('a', 'w')[Symbol.asyncIterator]();
  await events.next();
  let before;
  do {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
  } while (sent > before);
  expect(sent).toBeLessThan(200);
  await events.return!();
});
