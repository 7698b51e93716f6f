import { expect } from '@playwright/test';
import type { Call } from '../../support/service/service.ts';
import { decoded, encoded, test } from '../../support/service/session-processes.ts';
import { contentType, encoded as form } from '../../support/service/uploads.ts';

test('process operations take and refuse the bodies that the hosted service documents', async ({
  client,
  service: { call },
  shell: { id },
}) => {
  const path = `/browsers/${id}/process`;
  const unknown = `${path}/00000000-0000-4000-8000-000000000000`;
  const refused: [request: string, body?: object][] = [
    [`POST ${path}/exec`, {}],
    [`POST ${path}/exec`, { command: '' }],
    [`POST ${path}/exec`, { command: 'true', cwd: 'tmp' }],
    [`POST ${path}/exec`, { command: 'true', args: 'a' }],
    [`POST ${path}/exec`, { command: 'true', env: { A: 1 } }],
    [`POST ${path}/exec`, { command: 'true', allocate_tty: true }],
    [`POST ${path}/spawn`, { command: 'true', rows: 0 }],
    [`POST ${path}/spawn`, { command: 'true', cols: 65_536 }],
    // The body is looked at first.
    [`POST ${unknown}/stdin`, { data_b64: '*' }],
    [`POST ${unknown}/kill`, { signal: 'STOP' }],
    [`POST ${unknown}/resize`, { rows: 0, cols: 1 }],
    [`POST ${unknown}/resize`, { rows: 1 }],
  ];
  for (const [request, body] of refused)
    expect((await callOf(call, request, body)).status, `${request} ${JSON.stringify(body)}`).toBe(400);
  const missing: typeof refused = [
    [`GET ${unknown}/status`],
    [`GET ${unknown}/stdout/stream`],
    [`POST ${unknown}/stdin`, { data_b64: '' }],
    [`POST ${unknown}/kill`, {}],
    [`POST ${unknown}/resize`, { rows: 1, cols: 1 }],
    ['POST /browsers/none/process/exec', { command: 'true' }],
  ];
  for (const [request, body] of missing) expect((await callOf(call, request, body)).status, request).toBe(404);
  const nothing = { cwd: null, as_user: null, timeout_sec: null, as_root: false };
  const done = await call('POST', `${path}/exec`, { command: 'true', ...nothing });
  expect([done.status, Object.keys(done.body)]).toEqual([
    200,
    ['exit_code', 'stdout_b64', 'stderr_b64', 'duration_ms'],
  ]);
  // Only a positive number of seconds is a limit.
  const unlimited = await client.browsers.process.exec(id, { command: 'echo', args: ['x'], timeout_sec: 0 });
  expect(decoded(unlimited.stdout_b64)).toBe('x\n');
});

test('event streams have one JSON object in each frame, and no kind or id outside of it', async ({
  service: { url, apiKey },
  shell,
}) => {
  const process = await shell.spawn('echo out; exit 3');
  await shell.run('echo line > ~/a.log');
  const read = async (path: string) => {
    const answer = await fetch(`${url}/browsers/${shell.id}/${path}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(answer.headers.get('content-type'), path).toBe('text/event-stream');
    expect(answer.headers.get('x-sse-content-type'), path).toBe('application/json');
    const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith(':'));
    for (const line of lines) expect(line).toMatch(/^data: \{/);
    return lines.map((line) => JSON.parse(line.slice('data: '.length)) as object);
  };
  expect(await read(`process/${process}/stdout/stream`)).toEqual([
    { stream: 'stdout', data_b64: encoded('out\n') },
    { event: 'exit', exit_code: 3 },
  ]);
  expect(await read('logs/stream?source=path&follow=false&path=/home/user/a.log')).toEqual([
    { event: 'log', timestamp: expect.stringMatching(/^\d{4}-.*Z$/), message: 'line' },
  ]);
});

test('code, requests, logs and telemetry refuse bodies and queries beyond the documented bounds', async ({
  service: { call },
}) => {
  const { body: session } = await call('POST', '/browsers', { headless: true });
  const path = `/browsers/${session.session_id}`;
  const refused: [request: string, body?: object][] = [
    [`POST ${path}/playwright/execute`, {}],
    [`POST ${path}/playwright/execute`, { code: '' }],
    [`POST ${path}/playwright/execute`, { code: '1', timeout_sec: 0 }],
    [`POST ${path}/playwright/execute`, { code: '1', timeout_sec: 301 }],
    [`POST ${path}/playwright/execute`, { code: '1', language: 'ts' }],
    [`POST ${path}/curl`, {}],
    [`POST ${path}/curl`, { url: 'http://a.example', method: 'TRACE' }],
    [`POST ${path}/curl`, { url: 'http://a.example', timeout_ms: 999 }],
    [`POST ${path}/curl`, { url: 'http://a.example', response_encoding: 'hex' }],
    [`POST ${path}/curl`, { url: 'http://a.example', follow: true }],
    [`GET ${path}/logs/stream?source=journal`],
    [`GET ${path}/logs/stream?source=path&path=/a&follow=perhaps`],
    [`GET ${path}/telemetry/events?limit=0`],
    [`GET ${path}/telemetry/events?limit=101`],
    [`GET ${path}/telemetry/events?offset=-1`],
    [`GET ${path}/telemetry/events?category=none`],
    [`GET ${path}/telemetry/events?since=yesterday`],
    [`GET ${path}/telemetry/events?order=random`],
  ];
  for (const [request, body] of refused)
    expect((await callOf(call, request, body)).status, `${request} ${JSON.stringify(body)}`).toBe(400);
  for (const query of ['category=console,page', 'category=console&category=page', 'since=5m&until=1m&limit=100'])
    expect(await call('GET', `${path}/telemetry/events?${query}`), query).toMatchObject({ status: 200, body: [] });
  expect(await call('POST', '/browsers/none/playwright/execute', { code: '1' })).toMatchObject({ status: 404 });
  expect(await call('POST', '/browsers/none/curl', { url: 'http://a.example' })).toMatchObject({ status: 404 });
  expect(await call('GET', '/browsers/none/telemetry/events')).toMatchObject({ status: 404 });
  expect(await call('GET', '/browsers/none/telemetry/stream')).toMatchObject({ status: 404 });
  // A browser tells all fields that the hosted service's does.
  expect(session).toMatchObject({
    base_url: expect.stringMatching(/\/browser\/kernel$/),
    gpu: false,
    chrome_policy: {},
    telemetry: null,
  });
});

test('extensions take and refuse names and ids that the hosted service documents', async ({ service: { call } }) => {
  const headers = { 'content-type': contentType };
  for (const name of ['', 'a b', 'ä', 'x'.repeat(256)])
    expect((await call('POST', '/extensions', form([['name', name], ['file', 'x', 'file']]), headers)).status).toBe(400); // prettier-ignore
  expect((await call('POST', '/extensions', form([['name', 'a']]), headers)).status).toBe(400);
  for (const request of ['GET /extensions/none', 'GET /extensions/none/metadata', 'DELETE /extensions/none'])
    expect((await callOf(call, request)).status, request).toBe(404);
  expect((await call('GET', '/extensions?limit=101')).status).toBe(400);
  // The fixed path wins over an extension of that name.
  const { status, body } = await call('GET', '/extensions/from_chrome_store');
  expect([status, body.details[0].message]).toEqual([400, expect.stringMatching(/^url: /)]);
});

function callOf(call: Call, request: string, body?: object): ReturnType<Call> {
  const [method, path] = request.split(' ') as [string, string];
  return call(method, path, body);
}
