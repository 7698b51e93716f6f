import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { attached, CdpPipe } from '../../support/service/cdp-pipe.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { randomOf } from '../../support/processes/random.ts';
import { damaged, hostilePath, hostileText, hostileValue, seed, words } from './hostile-values.ts';
import { expect, test } from '../../support/worker.ts';

const frames = isLong ? 50_000 : 1000;

const clients = ['A', 'B', 'C'];
/** The sessions of each client: with the browser, with a page, with a frame of the page; and some that are nobody's. */
const sessionsOf = (client: string) => [client, `${client}P`, `${client}PF`];
const sessionIds = [...clients.flatMap(sessionsOf), 'OWN', 'X', ''];

/** Parts of messages that a careless reader takes for the ends or the heads of messages. */
const decoy = fc.constantFrom(
  ...sessionIds.map((sessionId) => `","sessionId":"${sessionId}"}`),
  '"}\0{"id":1,"method":"Browser.close"}\0',
  '{"id":-2147483648,"result":{}}',
  '\\',
  '\\"',
  '"/*',
  'x'.repeat(300_000),
);
const value = fc.oneof({ weight: 2, arbitrary: decoy }, { weight: 3, arbitrary: hostileValue });

const command = fc.tuple(
  fc.record(
    {
      id: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) }, value),
      method: fc.oneof(
        {
          weight: 9,
          arbitrary: fc.constantFrom(
            ...words('Runtime.evaluate DOM.setFileInputFiles Browser.setDownloadBehavior Target.getTargets'),
            ...words('Target.sendMessageToTarget Target.exposeDevToolsProtocol'),
          ),
        },
        value,
      ),
      sessionId: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...sessionIds) }, value),
      params: fc.record(
        {
          files: fc.oneof(fc.array(hostilePath('/etc'), { maxLength: 2 }), value),
          method: fc.constant('Runtime.evaluate'),
          sessionId: fc.constantFrom(...sessionIds),
          value,
        },
        { requiredKeys: [] },
      ),
      more: value,
    },
    { requiredKeys: ['id', 'method'], noNullPrototype: true },
  ),
  fc.noBias(fc.nat()),
);

/** Writes a command with its keys in any order, some escaped, some twice. */
const written = command.map(([fields, order]) => {
  const below = randomOf(order);
  const next = () => below(1e6) / 1e6;
  const members = Object.entries(fields).filter(([key]) => key !== 'more' || next() < 0.05);
  if (next() < 0.05) members.push(members[Math.floor(next() * members.length)]!);
  const texts = members
    .map(([key, member]) => {
      const escaped = next() < 0.1 ? `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}` : key;
      return { order: next(), text: `"${escaped}"${next() < 0.1 ? ' :\n' : ':'}${JSON.stringify(member) ?? 'null'}` };
    })
    .toSorted((a, b) => a.order - b.order);
  return `{${texts.map(({ text }) => text).join(',')}}`;
});

const hostileFrame = fc.oneof(
  { weight: 8, arbitrary: written.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: written.chain(damaged) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
);

test("a hostile client can't use the CDP sessions of other clients or get their answers", async () => {
  test.setTimeout(isLong ? 600_000 : 60_000);
  console.log(`${frames} frames with the seed ${seed}`);
  const below = randomOf(seed);
  const pipe = new CdpPipe();
  const connected = new Map<string, Awaited<ReturnType<CdpPipe['attach']>>>();
  for (const client of clients) {
    const [browser, page, frame] = sessionsOf(client) as [string, string, string];
    connected.set(client, await pipe.attach(browser));
    await pipe.say(attached(page, browser, { targetId: page }), attached(frame, page, { targetId: frame }));
    connected.get(client)!.received.length = 0;
  }
  await pipe.say(attached('OWN', '', { targetId: 'T' }));

  const answers: { id: number; result: object; sessionId?: string }[] = [];
  const texts = fc.sample(hostileText, { seed, numRuns: 1000 });
  let [passed, delivered] = [0, 0];
  // The loop uses no `expect`: each call is a step of the test, and Playwright looks through all steps before the next.
  const step = Math.min(frames, 1000);
  for (let from = 0; from < frames; from += step) {
    for (const frame of fc.sample(hostileFrame, { seed: seed + from, numRuns: step })) {
      const sender = clients[below(clients.length)]!;
      connected.get(sender)!.client.fromClient(frame);
      await new Promise((resolve) => setImmediate(resolve));
      for (const text of pipe.read.splice(0)) {
        const { id, method, sessionId, params, ...rest } = JSON.parse(text) as Record<string, unknown>;
        const excerpt = text.slice(0, 500);
        assert(sessionsOf(sender).includes(sessionId as string), excerpt);
        assert.deepEqual(rest, {});
        assert(!['Target.sendMessageToTarget', 'Target.exposeDevToolsProtocol'].includes(method as string), excerpt);
        const { files } = (params ?? {}) as { files?: unknown };
        if (method === 'DOM.setFileInputFiles' && Array.isArray(files))
          for (const file of files) assert.match(file as string, /^\/host\/root(\/|$)/);
        const result = {
          of: sender,
          text: texts[below(texts.length)],
          sessionId: sessionIds[below(sessionIds.length)],
        };
        answers.push({ id: id as number, result, sessionId: sessionId as string });
        passed++;
      }
      if (answers.length < 20) continue;
      await sayInPieces(pipe, answers.splice(0), below);
      for (const [client, { received }] of connected) {
        for (const text of received.splice(0)) {
          const { result, params, error } = JSON.parse(text) as Record<string, { of?: string } | undefined>;
          assert(error !== undefined || (result ?? params)!.of === client, text.slice(0, 500));
          if (!error) delivered++;
        }
      }
    }
  }
  console.log(`${passed} frames passed, ${delivered} messages came back`);
  expect(passed).toBeGreaterThan(frames / 20);
  // Each answer and one event for each client of each round.
  expect(delivered).toBeGreaterThan(passed - 20);
});

/** Answers out of order, with events between them, in pieces of any length. */
async function sayInPieces(pipe: CdpPipe, answers: object[], below: (limit: number) => number): Promise<void> {
  const events = clients.map((client) => ({
    method: 'Runtime.bindingCalled',
    params: { of: client, payload: `","sessionId":"${clients[below(clients.length)]!}"}` },
    sessionId: sessionsOf(client)[below(3)],
  }));
  const strays = [
    { method: 'Runtime.bindingCalled', params: { of: 'nobody' }, sessionId: 'X' },
    { id: 12, result: { of: 'nobody' }, sessionId: 'A' },
    { id: 12, error: { code: -32001, message: 'Session with given id not found.' } },
  ];
  const messages = [...answers, ...events, ...strays]
    .map((message) => ({ order: below(2 ** 30), message }))
    .toSorted((a, b) => a.order - b.order);
  let bytes = Buffer.from(messages.map(({ message }) => `${JSON.stringify(message)}\0`).join(''));
  while (bytes.length > 0) {
    const length = 1 + below(below(2) === 0 ? 3 : 5000);
    await pipe.sayBytes(bytes.subarray(0, length));
    bytes = bytes.subarray(length);
  }
}
