import { once } from 'node:events';
import { expect } from '@playwright/test';
import { ConnectionError, createClient, NotFoundError, ServiceError } from '../../src/client/index.ts';
import type { DeploymentEvent } from '../../src/client/index.ts';
import { appOf, collect, deployed, startApps, started } from '../support/service/apps.ts';
import { FaultProxy } from '../support/http/fault-proxy.ts';
import { breakOff, errorOf, eventStream, type ScriptedAnswer, test } from './recording-server.ts';

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
const log = (second: number, message: string) => ({ event: 'log', timestamp: at(second), message });
const state = (second: number, status: string) => ({
  event: 'deployment_state',
  timestamp: at(second),
  deployment: { id: 'd', status, region: 'aws.us-east-1a', created_at: at(0) },
});
const heartbeat = { event: 'sse_heartbeat', timestamp: at(0) };

const silent = () => {};
const frame = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

/** Sends events, and then ends the stream or breaks it off. */
function stream(events: object[], then: 'end' | 'break' = 'end'): ScriptedAnswer {
  return eventStream(events.map(frame), then === 'break' ? breakOff : undefined);
}

function telemetry(seq: number): object {
  return { seq, event: { ts: seq, type: 'page_load', category: 'page' } };
}

const away: ScriptedAnswer = {
  status: 503,
  headers: { 'x-should-retry': 'false' },
  json: { code: 'unavailable', message: 'shutting down' },
};

const messages = (events: DeploymentEvent[]) =>
  events.map((event) => (event.event === 'log' ? event.message : event.event));
const asked = (calls: { url: string }[]) =>
  calls.map(({ url }) => new URL(url, 'http://service').searchParams.get('since'));

test('follow() continues a broken log stream without losing or repeating a line', async ({ serve, connect }) => {
  const server = await serve(
    stream([log(1, 'a'), log(2, 'b'), log(2, 'c'), heartbeat, state(3, 'in_progress')], 'break'),
    // Since then, and that included.
    stream([log(2, 'b'), log(2, 'c'), log(2, 'd'), log(4, 'e'), state(5, 'in_progress')], 'break'),
    // One that leaves it out.
    stream([log(5, 'f'), log(5, 'g'), state(6, 'stopped')]),
  );
  const events = await collect(connect(server).deployments.follow('d'));
  expect(messages(events)).toEqual(['a', 'b', 'c', 'deployment_state', 'd', 'e', 'f', 'g', 'deployment_state']);
  expect(asked(server.calls)).toEqual([null, at(2), at(4)]);
});

test('follow() waits for a service that is briefly unreachable', async ({ serve, connect }) => {
  const server = await serve(
    stream([log(1, 'a')], 'break'),
    away,
    stream([log(1, 'a'), log(2, 'b'), state(3, 'failed')]),
  );
  expect(messages(await collect(connect(server).deployments.follow('d')))).toEqual(['a', 'b', 'deployment_state']);
});

test('a broken telemetry stream continues after its last event, and repeats none', async ({ serve, connect }) => {
  const [first, second, third] = [1, 2, 3].map(telemetry) as [object, object, object];
  const server = await serve(stream([first, second], 'break'), stream([second, third]));
  expect(await collect(connect(server).browsers.telemetry.stream('s'))).toEqual([first, second, third]);
  expect(server.calls.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2']);
});

test('follow() counts "since: 5m" from its start, also when it opens the stream again', async ({ serve, connect }) => {
  const server = await serve(stream([state(1, 'running')], 'break'), stream([log(2, 'a'), state(3, 'stopped')]));
  const { deployments } = connect(server);
  expect(messages(await collect(deployments.follow('d', { since: '5m' })))).toEqual([
    'deployment_state',
    'a',
    'deployment_state',
  ]);
  expect(asked(server.calls)[0]).toBe('5m');
  expect(asked(server.calls)[1]).toMatch(/^5m\d+ms$/);
});

test('follow() keeps its start time if the stream breaks before the first line', async ({ serve, connect }) => {
  for (const since of [undefined, at(0)]) {
    const server = await serve(stream([state(1, 'running')], 'break'), stream([state(3, 'stopped')]));
    await collect(connect(server).deployments.follow('d', { since }));
    expect(asked(server.calls)).toEqual([since ?? null, since ?? null]);
  }
});

test('follow() throws for an unknown deployment, no service and an invalid event', async ({ serve, connect }) => {
  const missing = { status: 404, json: { code: 'not_found', message: 'there is no deployment d' } };
  const unknown = await serve(missing);
  expect(await errorOf(collect(connect(unknown).deployments.follow('d')))).toBeInstanceOf(NotFoundError);
  expect(unknown.calls).toHaveLength(1);
  const gone = await serve(stream([log(1, 'a')], 'break'), missing);
  expect(await errorOf(collect(connect(gone).deployments.follow('d')))).toBeInstanceOf(NotFoundError);
  const odd = await serve(eventStream(['data: no JSON\n\n']));
  expect(await errorOf(collect(connect(odd).deployments.follow('d')))).toBeInstanceOf(ServiceError);
  const nowhere = connect({ url: 'http://127.0.0.1:1' }, { maxRetries: 0 });
  expect(await errorOf(collect(nowhere.deployments.follow('d')))).toBeInstanceOf(ConnectionError);
});

test('follow() stops when the caller leaves or aborts, also between two streams', async ({ serve, connect }) => {
  let closed: Promise<unknown> | undefined;
  const open = eventStream([frame(log(1, 'a'))], (response) => (closed = once(response, 'close')));
  const server = await serve(open, stream([log(1, 'a')], 'break'));
  const { deployments } = connect(server);
  for await (const _ of deployments.follow('d')) break;
  await closed;
  expect(server.calls).toHaveLength(1);
  const leaving = await serve(stream([log(1, 'a')], 'break'), away);
  const stopped = connect(leaving).deployments.follow('d')[Symbol.asyncIterator]();
  await stopped.next();
  const last = stopped.next();
  await expect.poll(() => leaving.calls.length).toBe(2);
  await stopped.return!();
  expect(await last).toEqual({ done: true, value: undefined });
  const controller = new AbortController();
  const reading = deployments.follow('d', {}, { signal: controller.signal })[Symbol.asyncIterator]();
  await reading.next();
  const next = reading.next();
  controller.abort(new Error('enough'));
  expect(await errorOf(next)).toMatchObject({ message: 'enough' });
});

test('opens a silent stream again after 75 s, but not one that is kept alive @long', async ({ serve, connect }) => {
  test.slow();
  const numbered = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify(telemetry(seq))}\n\n`;
  const lines = await serve(eventStream([frame(log(1, 'a'))], silent), stream([log(2, 'b'), state(3, 'stopped')]));
  const cut = await serve(eventStream([numbered(1)], silent), eventStream([numbered(2)]));
  const quiet = await serve(
    eventStream([numbered(1)], (response) => {
      const comments = setInterval(() => response.write(':\n\n'), 15_000);
      setTimeout(() => {
        clearInterval(comments);
        response.end(numbered(2));
      }, 100_000);
    }),
  );
  const empty = await serve(eventStream([':\n\n'], silent));
  const follow = (server: { url: string }) => collect(connect(server).browsers.telemetry.stream('s'));
  const [found, resumed, kept, error] = await Promise.all([
    collect(connect(lines).deployments.follow('d')),
    follow(cut),
    follow(quiet),
    errorOf(follow(empty)),
  ]);
  expect(messages(found)).toEqual(['a', 'b', 'deployment_state']);
  expect(resumed).toEqual([telemetry(1), telemetry(2)]);
  expect(cut.calls.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1']);
  expect(kept).toEqual([telemetry(1), telemetry(2)]);
  expect(quiet.calls).toHaveLength(1);
  // It has no event after which it could be resumed.
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toContain('the event stream was silent for 75 s');
});

test('follow() delivers each line once through a connection that breaks again and again', async ({}, testInfo) => {
  await using direct = await startApps(testInfo);
  const source = appOf({
    talk: `async () => {
      for (let line = 0; line < 1000; line += 1) {
        console.log('line ' + line);
        if (line % 100 === 0) await new Promise((done) => setTimeout(done, 50));
      }
    }`,
  });
  await started(direct, (await deployed(direct, source)).id);

  await using proxy = await FaultProxy.start(direct.service.url);
  const cut = { bytes: 20_000, ending: 'reset' } as const;
  proxy.plan(/^GET .*\/events/, cut, cut, cut);
  await using client = createClient({ baseURL: proxy.url, apiKey: direct.service.apiKey });
  const { id } = await direct.invocations.create({ app_name: 'app', action_name: 'talk', async: true });
  const lines = [];
  for await (const event of client.invocations.follow(id)) if (event.event === 'log') lines.push(event.message);
  expect(proxy.requests.filter((request) => request.includes('/events'))).toHaveLength(4);
  expect(lines).toEqual(Array.from({ length: 1000 }, (_, line) => `line ${line}`));
});
