import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { expect } from '@playwright/test';
import { decoded, encoded, shellIn, type Shell } from '../../support/service/session-processes.ts';
import { contentType, encoded as form, test as base } from '../../support/service/uploads.ts';

/** The tests share a session, which loses their files. */
const test = base.extend<{ shell: Shell }>({
  shell: async ({ client, root }, use) => use(shellIn(client, basename(dirname(root)))),
});

test.describe.configure({ mode: 'default' });

const unknown = '/browsers/{id}/process/00000000-0000-4000-8000-000000000000';

/** Requests for a session with the id `{id}`, by the status of their answers. */
const answered: Record<number, [request: string, body?: object][]> = {
  400: [
    ['POST /browsers/{id}/process/exec', {}],
    ['POST /browsers/{id}/process/exec', { command: '' }],
    ['POST /browsers/{id}/process/exec', { command: 'true', cwd: 'tmp' }],
    ['POST /browsers/{id}/process/exec', { command: 'true', args: 'a' }],
    ['POST /browsers/{id}/process/exec', { command: 'true', env: { A: 1 } }],
    ['POST /browsers/{id}/process/exec', { command: 'true', allocate_tty: true }],
    ['POST /browsers/{id}/process/spawn', { command: 'true', rows: 0 }],
    ['POST /browsers/{id}/process/spawn', { command: 'true', cols: 65_536 }],
    // The body is looked at first.
    [`POST ${unknown}/stdin`, { data_b64: '*' }],
    [`POST ${unknown}/kill`, { signal: 'STOP' }],
    [`POST ${unknown}/resize`, { rows: 0, cols: 1 }],
    [`POST ${unknown}/resize`, { rows: 1 }],
    ['POST /browsers/{id}/playwright/execute', {}],
    ['POST /browsers/{id}/playwright/execute', { code: '' }],
    ['POST /browsers/{id}/playwright/execute', { code: '1', timeout_sec: 0 }],
    ['POST /browsers/{id}/playwright/execute', { code: '1', timeout_sec: 301 }],
    ['POST /browsers/{id}/playwright/execute', { code: '1', language: 'ts' }],
    ['POST /browsers/{id}/curl', {}],
    ['POST /browsers/{id}/curl', { url: 'http://a.example', method: 'TRACE' }],
    ['POST /browsers/{id}/curl', { url: 'http://a.example', timeout_ms: 999 }],
    ['POST /browsers/{id}/curl', { url: 'http://a.example', response_encoding: 'hex' }],
    ['POST /browsers/{id}/curl', { url: 'http://a.example', follow: true }],
    ['GET /browsers/{id}/logs/stream?source=journal'],
    ['GET /browsers/{id}/logs/stream?source=path&path=/a&follow=perhaps'],
    ['GET /browsers/{id}/telemetry/events?limit=0'],
    ['GET /browsers/{id}/telemetry/events?limit=101'],
    ['GET /browsers/{id}/telemetry/events?offset=-1'],
    ['GET /browsers/{id}/telemetry/events?category=none'],
    ['GET /browsers/{id}/telemetry/events?since=yesterday'],
    ['GET /browsers/{id}/telemetry/events?order=random'],
    ['GET /extensions?limit=101'],
  ],
  404: [
    [`GET ${unknown}/status`],
    [`GET ${unknown}/stdout/stream`],
    [`POST ${unknown}/stdin`, { data_b64: '' }],
    [`POST ${unknown}/kill`, {}],
    [`POST ${unknown}/resize`, { rows: 1, cols: 1 }],
    ['POST /browsers/none/process/exec', { command: 'true' }],
    ['POST /browsers/none/playwright/execute', { code: '1' }],
    ['POST /browsers/none/curl', { url: 'http://a.example' }],
    ['GET /browsers/none/telemetry/events'],
    ['GET /browsers/none/telemetry/stream'],
    ['GET /extensions/none'],
    ['GET /extensions/none/metadata'],
    ['DELETE /extensions/none'],
  ],
};

test('refuses the input that the hosted service refuses', async ({ client, service: { call }, shell: { id } }) => {
  for (const [status, requests] of Object.entries(answered))
    for (const [request, body] of requests) {
      const [method, path] = request.replace('{id}', id).split(' ') as [string, string];
      expect((await call(method, path, body)).status, `${request} ${JSON.stringify(body)}`).toBe(Number(status));
    }
  const nothing = { cwd: null, as_user: null, timeout_sec: null, as_root: false };
  const done = await call('POST', `/browsers/${id}/process/exec`, { command: 'true', ...nothing });
  const fields = ['exit_code', 'stdout_b64', 'stderr_b64', 'duration_ms'];
  expect([done.status, Object.keys(done.body)]).toEqual([200, fields]);
  // Only a positive number of seconds is a limit.
  const unlimited = await client.browsers.process.exec(id, { command: 'echo', args: ['x'], timeout_sec: 0 });
  expect(decoded(unlimited.stdout_b64)).toBe('x\n');

  const events = `/browsers/${id}/telemetry/events`;
  for (const query of ['category=console,page', 'category=console&category=page', 'since=5m&until=1m&limit=100'])
    expect(await call('GET', `${events}?${query}`), query).toMatchObject({ status: 200, body: [] });
  // A browser tells all fields that the hosted service's does.
  expect((await call('GET', `/browsers/${id}`)).body).toMatchObject({
    base_url: expect.stringMatching(/\/browser\/kernel$/),
    gpu: false,
    chrome_policy: {},
    telemetry: null,
  });

  const headers = { 'content-type': contentType };
  const noFile = form([['name', 'a']]);
  const names = ['', 'a b', 'ä', 'x'.repeat(256)].map((name) => form([['name', name], ['file', 'x', 'file']])); // prettier-ignore
  for (const body of [noFile, ...names]) expect((await call('POST', '/extensions', body, headers)).status).toBe(400);
  // The fixed path wins over an extension of that name.
  const { status, body } = await call('GET', '/extensions/from_chrome_store');
  expect([status, body.details[0].message]).toEqual([400, expect.stringMatching(/^url: /)]);
});

test('event streams have one JSON object in each frame, and nothing else', async ({ service, shell, root }) => {
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const process = await shell.spawn('echo out; exit 3');
  await writeFile(join(root, 'home/user/a.log'), 'line\n');
  const read = async (path: string) => {
    const answer = await fetch(`${service.url}/browsers/${shell.id}/${path}`, { headers });
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
