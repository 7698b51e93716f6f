import { attached, CdpPipe } from '../../support/service/cdp-pipe.ts';
import { expect, test } from '../../support/worker.ts';

const evaluate = (id: number, sessionId?: string) =>
  JSON.stringify({ id, method: 'Runtime.evaluate', params: { expression: '1' }, sessionId });

test('two CDP clients that use the same message ids each get their own answers and events', async () => {
  const pipe = new CdpPipe();
  const [a, b] = [await pipe.attach('A'), await pipe.attach('B')];
  a.send(evaluate(1));
  b.send(evaluate(1));
  const [ofA, ofB] = [await pipe.next(), await pipe.next()];
  expect([ofA.sessionId, ofB.sessionId]).toEqual(['A', 'B']);
  await pipe.say(
    { id: ofB.id, result: { of: 'B' }, sessionId: 'B' },
    { method: 'Target.targetCreated', params: { targetInfo: { targetId: 'T' } }, sessionId: 'A' },
    { id: ofA.id, result: { of: 'A' }, sessionId: 'A' },
  );
  expect(a.received).toEqual([
    '{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"T"}}}',
    '{"id":1,"result":{"of":"A"}}',
  ]);
  expect(b.received).toEqual(['{"id":1,"result":{"of":"B"}}']);
});

test('a CDP client gets the messages of its sessions and their child sessions until these are detached', async () => {
  const pipe = new CdpPipe();
  const [a, b] = [await pipe.attach('A'), await pipe.attach('B')];
  const page = attached('P', 'A', { targetId: 'T' });
  const frame = attached('F', 'P', { targetId: 'U', type: 'iframe' });
  const event = { method: 'Runtime.consoleAPICalled', params: {}, sessionId: 'F' };
  await pipe.say(page, frame, event);
  expect(a.received.map((text) => JSON.parse(text) as object)).toEqual([
    { ...page, sessionId: undefined },
    frame,
    event,
  ]);
  a.send(evaluate(7, 'F'));
  const { id } = await pipe.next();
  // Chromium names no session in answer to a command for one that is gone by then.
  await pipe.say({ id, error: { code: -32001, message: 'Session with given id not found.' } });
  expect(a.received.at(-1)).toBe('{"id":7,"error":{"code":-32001,"message":"Session with given id not found."}}');
  await pipe.say({ method: 'Target.detachedFromTarget', params: { sessionId: 'P' }, sessionId: 'A' });
  const before = a.received.length;
  await pipe.say(event);
  expect(a.received).toHaveLength(before);
  expect(b.received).toEqual([]);
});

test('denies to a CDP client that sessions of other clients and of the service exist', async () => {
  const pipe = new CdpPipe();
  const [a, b] = [await pipe.attach('A'), await pipe.attach('B')];
  await pipe.say(attached('P', 'A', { targetId: 'T' }));
  for (const sessionId of ['A', 'P', 'S', 'none']) b.send(evaluate(3, sessionId));
  expect(b.received.map((text) => (JSON.parse(text) as { error: object }).error)).toEqual(
    Array.from({ length: 4 }, () => ({ code: -32001, message: 'Session with given id not found.' })),
  );
  a.send(evaluate(4, 'P'));
  expect(await pipe.next()).toMatchObject({ sessionId: 'P' });
});

test('detaches the CDP sessions of a client that disconnects', async () => {
  const pipe = new CdpPipe();
  let left = 0;
  const a = await pipe.attach('A', { left: () => left++ });
  await pipe.say(attached('P', 'A', { targetId: 'T' }));
  a.client.leave();
  a.client.leave();
  expect(await pipe.next()).toMatchObject({ method: 'Target.detachFromTarget', params: { sessionId: 'A' } });
  a.received.length = 0;
  await pipe.say({ method: 'Page.loadEventFired', params: {}, sessionId: 'P' }, attached('Q', 'A', { targetId: 'U' }));
  expect([a.received, left, pipe.read]).toEqual([[], 1, []]);
});

test('passes CDP parameters on byte for byte, and counts each frame of a client as activity', async () => {
  const pipe = new CdpPipe();
  let touched = 0;
  const { send } = await pipe.attach('A', { touch: () => touched++ });
  const params = '{ "b" : [1e3, "\\u0041\\"}", {"method":"DOM.setFileInputFiles"}], "ä": null}';
  send(`{"id":1,"method":"Runtime.evaluate","params":${params}}`);
  send('{"params":null,"id":2,"method":"DOM.setFileInputFiles"}');
  send('{"params":7,"id":3,"method":"Browser.setDownloadBehavior"}');
  send('nonsense');
  await new Promise((resolve) => setImmediate(resolve));
  expect(pipe.read).toHaveLength(3);
  send(`{"id":1,"method":"Runtime.evaluate","params":${params}}`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(pipe.read.at(-1)).toContain(`"params":${params}}`);
  expect(touched).toBe(5);
});

test('replaces client paths by host paths in CDP commands, in any JSON spelling', async () => {
  const pipe = new CdpPipe();
  const { send } = await pipe.attach('A');
  const files = Array.from({ length: 50 }, (_, index) => `/directory/file-${index}`);
  for (const text of [
    '{"method":"DOM.setFileInputFiles","params":{"files":["/a"]},"id":1}',
    '{ "id" : 1, "method" : "DOM.setFileInputFiles", "params" : { "files" : [ "/a" ] } }',
    '{"id":1,"\\u006dethod":"DOM.setFileInputFiles","params":{"files":["/a"]}}',
    '{"id":1,"method":"DOM.set\\u0046ileInputFiles","\\u0070arams":{"files":["/b"],"files":["/a"]}}',
    '{"id":1,"params":{"method":"Runtime.evaluate","files":["/a"]},"method":"DOM.setFileInputFiles"}',
  ]) {
    send(text);
    expect((await pipe.next()).params['files'], text).toEqual(['/host/root/a']);
  }
  send(JSON.stringify({ id: 1, params: { files }, method: 'DOM.setFileInputFiles' }));
  expect((await pipe.next()).params['files']).toEqual(files.map((file) => `/host/root${file}`));
  const data = { items: [], files: ['/a'] };
  send(JSON.stringify({ id: 2, method: 'Input.dispatchDragEvent', params: { type: 'drop', data } }));
  expect((await pipe.next()).params['data']).toEqual({ items: [], files: ['/host/root/a'] });
});

test('refuses CDP commands that can contain other commands', async () => {
  const pipe = new CdpPipe();
  const { send, received } = await pipe.attach('A');
  for (const method of ['Target.sendMessageToTarget', 'Target.exposeDevToolsProtocol']) {
    send(JSON.stringify({ id: 5, method, params: {} }));
    expect(JSON.parse(received.pop()!)).toMatchObject({ id: 5, error: { message: expect.stringContaining(method) } });
  }
  expect(pipe.read).toEqual([]);
});

test('reports when a CDP client brings a page to the front, by its target or through a session', async () => {
  const pipe = new CdpPipe();
  const front: string[] = [];
  const { send } = await pipe.attach('A', { broughtToFront: (targetId) => front.push(targetId) });
  await pipe.say(attached('P', 'A', { targetId: 'T' }));
  send('{"id":1,"method":"Page.bringToFront","params":{},"sessionId":"P"}');
  send('{"id":2,"method":"Target.activateTarget","params":{"targetId":"U"}}');
  await pipe.say({ method: 'Target.detachedFromTarget', params: { sessionId: 'P', targetId: 'T' }, sessionId: 'A' });
  send('{"id":3,"method":"Page.bringToFront","params":{},"sessionId":"P"}');
  expect(front).toEqual(['T', 'U']);
});

test("resumes and detaches the service's own page without telling the CDP client", async () => {
  const pipe = new CdpPipe();
  const { received, send } = await pipe.attach('A', { ownTargets: new Set(['OWN']) });
  await pipe.say(attached('P', 'A', { targetId: 'T', type: 'tab' }));
  received.length = 0;
  await pipe.say(attached('H', 'P', { targetId: 'U', browserContextId: 'OWN' }));
  const run = await pipe.next();
  expect(run).toMatchObject({ method: 'Runtime.runIfWaitingForDebugger', sessionId: 'H' });
  send('{"id":1,"method":"Runtime.evaluate","sessionId":"H"}');
  expect(received.pop()).toContain('Session with given id not found');
  await pipe.say(
    { method: 'Inspector.detached', params: {}, sessionId: 'H' },
    { id: run.id, result: {}, sessionId: 'H' },
  );
  const detach = await pipe.next();
  expect(detach).toMatchObject({ method: 'Target.detachFromTarget', params: { sessionId: 'H' }, sessionId: 'P' });
  await pipe.say(
    { id: detach.id, result: {}, sessionId: 'P' },
    { method: 'Target.detachedFromTarget', params: { sessionId: 'H', targetId: 'U' }, sessionId: 'P' },
    { method: 'Target.targetDestroyed', params: { targetId: 'U' }, sessionId: 'A' },
  );
  expect(received).toEqual([]);
});

test('closes the sockets of CDP clients when Chromium ends', async () => {
  const pipe = new CdpPipe();
  const [a, b] = [await pipe.attach('A'), await pipe.attach('B')];
  pipe.end();
  await expect.poll(() => [a.closed, b.closed]).toEqual([['the browser has closed'], ['the browser has closed']]);
});
