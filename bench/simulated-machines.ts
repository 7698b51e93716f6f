import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

// `node simulated-machines.js COUNT SLOTS` runs machines whose sessions have no browser, one port each, and prints
// their URLs, separated by commas. They answer what a control plane asks while it leases sessions.

type Simulated = { session_id: string; tags: Record<string, string>; [field: string]: unknown };

const [count, slots] = process.argv.slice(2).map(Number) as [number, number];
const urls = await Promise.all(Array.from({ length: count }, startMachine));
console.log(urls.join(','));
process.stdin.resume().once('end', () => process.exit());

async function startMachine(): Promise<string> {
  const sessions = new Map<string, Simulated>();
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void text(request).then((body) => answer(sessions, { request, body, response }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answer(
  sessions: Map<string, Simulated>,
  { request, body, response }: { request: IncomingMessage; body: string; response: ServerResponse },
): void {
  const send = (status: number, value?: unknown) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-has-more': 'false', 'x-next-offset': '0' })
      .end(value === undefined ? undefined : JSON.stringify(value));
  const fields = (body === '' ? {} : JSON.parse(body)) as Partial<Simulated>;
  const [, resource, id] = request.url!.split('?')[0]!.split('/');
  if (resource === 'org') return void send(200, { max_concurrent_sessions: slots, draining: false });
  if (resource !== 'browsers') return void send(200, []);
  if (id === undefined && request.method === 'GET') return void send(200, [...sessions.values()]);
  if (id === undefined) {
    if (sessions.size >= slots) return void send(429, { code: 'rate_limited', message: 'no slot is free' });
    const session = newSession(fields);
    sessions.set(session.session_id, session);
    return void send(200, session);
  }
  const session = sessions.get(id);
  if (!session) return void send(404, { code: 'not_found', message: `there is no browser session ${id}` });
  if (request.method === 'DELETE') return void send(sessions.delete(id) ? 204 : 404);
  Object.assign(session, fields);
  send(200, session);
}

function newSession(fields: Partial<Simulated>): Simulated {
  const id = randomUUID();
  const link = (path: string) => `ws://127.0.0.1:9/browser/${path}?jwt=${id}.${randomUUID()}`;
  return {
    tags: {},
    headless: true,
    stealth: false,
    timeout_seconds: 60,
    ...fields,
    session_id: id,
    created_at: new Date().toISOString(),
    cdp_ws_url: link('cdp'),
    playwright_ws_url: link('playwright'),
    webdriver_ws_url: link('webdriver'),
    tunnel_ws_url: link('tunnel'),
  };
}
