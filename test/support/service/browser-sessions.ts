import { createServer, type RequestListener } from 'node:http';
import { mkdir } from 'node:fs/promises';
import { chromium, type Browser } from '@playwright/test';
import { WebSocket } from 'ws';
import type { ChromiumSettings } from '../../../src/service/chromium/chromium.ts';
import type { Environment } from '../../../src/service/chromium/playwright-builds.ts';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import type { SessionSettings } from '../../../src/service/sessions/session.ts';
import { LocalLauncher } from '../../../src/service/sessions/local/local-launcher.ts';
import { Sessions } from '../../../src/service/sessions/sessions.ts';
import { SocketRoutes } from '../../../src/service/http/socket-route.ts';
import { systemClock, type Clock } from '../../../src/service/process/clock.ts';
import { cdpRoute } from '../../../src/service/sessions/cdp/cdp-proxy.ts';
import { serve, type Serving } from '../http/serve.ts';
import { noProfiles } from './profiles.ts';
import { test as base } from '../worker.ts';

export const settings: SessionSettings = {
  projectId: 'project',
  headless: true,
  stealth: false,
  kioskMode: false,
  timeoutSeconds: 60,
  viewport: { width: 1280, height: 720 },
};

type TargetInfo = { targetId: string; type: string; browserContextId?: string };

/** The parameters and results of the protocol that tests use. */
type CdpFields = {
  browserContextId: string;
  browserContextIds: string[];
  filePath: string;
  nodeId: number;
  result: { value: unknown; objectId: string };
  root: { nodeId: number };
  sessionId: string;
  targetId: string;
  targetInfo: TargetInfo;
  targetInfos: TargetInfo[];
};

type CdpMessage = { id?: number; method?: string; params?: CdpFields; result?: CdpFields; error?: { message: string } };

/** A plain CDP client that receives every frame. */
export type RawClient = {
  /** All received messages, in order. */
  received: CdpMessage[];
  send(method: string, params?: object, sessionId?: string): Promise<CdpFields>;
  close(): void;
  closed: Promise<unknown>;
};

type Fixtures = {
  clock: Clock;
  chromiumSettings: ChromiumSettings;
  /** The environment of the sessions' service. */
  environment: Environment;
  sessions: Sessions<LocalSession>;
  /** A session with a running Chromium. */
  session: LocalSession;
  /** The address of the session for CDP clients, like `cdp_ws_url`. */
  addressOf: (session: LocalSession) => string;
  /** Connects Playwright to a session. */
  connect: (session: LocalSession) => Promise<Browser>;
  connectRaw: (address: string) => Promise<RawClient>;
  /** Serves pages under a secure origin. */
  site: (listener: RequestListener) => Promise<string>;
};

export const test = base.extend<Fixtures>({
  clock: [systemClock, { option: true }],
  chromiumSettings: [{}, { option: true }],
  environment: [process.env, { option: true }],
  sessions: async ({ clock, chromiumSettings, environment }, use, testInfo) => {
    const sessions = await startSessions(testInfo, { clock, chromium: chromiumSettings, environment });
    await use(sessions);
    await sessions.close();
  },
  session: async ({ sessions }, use) => {
    await use(await sessions.create(settings));
  },
  addressOf: async ({ sessions, clock }, use) => {
    const routes = new SocketRoutes({ '/browser/cdp': cdpRoute({ find: (token) => sessions.byToken(token), clock }) });
    const server = createServer();
    server.on('upgrade', (...upgrade) => routes.upgrade(...upgrade));
    await using serving = await serve(server);
    await use((session) => `ws://127.0.0.1:${serving.port}/browser/cdp?jwt=${session.lease.token}`);
    routes.close();
  },
  connect: async ({ addressOf }, use) => {
    const browsers: Browser[] = [];
    await use(async (session) => {
      const browser = await chromium.connectOverCDP(addressOf(session));
      browsers.push(browser);
      return browser;
    });
    await Promise.all(browsers.map((browser) => browser.close()));
  },
  connectRaw: async ({}, use) => {
    const sockets: WebSocket[] = [];
    await use(async (address) => {
      const socket = new WebSocket(address);
      sockets.push(socket);
      return await rawClient(socket);
    });
    for (const socket of sockets) socket.terminate();
  },
  site: async ({}, use) => {
    const servers: Serving[] = [];
    await use(async (listener) => {
      servers.push(await serve(listener));
      return `http://localhost:${servers.at(-1)!.port}`;
    });
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  },
});

/** Sessions whose files are below `place`. */
export async function startSessions(
  place: { outputPath: (name: string) => string },
  options: { clock?: Clock; chromium?: ChromiumSettings; environment?: Environment } = {},
): Promise<Sessions<LocalSession>> {
  const { clock = systemClock, chromium = {}, environment = process.env } = options;
  const directory = place.outputPath('sessions');
  await mkdir(directory, { recursive: true });
  const profiles = await noProfiles(place);
  return new Sessions(new LocalLauncher({ clock, directory, profiles, chromium, environment }));
}

/** Serves one page. */
export function page(html: string): RequestListener {
  return (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
}

async function rawClient(socket: WebSocket): Promise<RawClient> {
  const received: CdpMessage[] = [];
  const answers = new Map<number, (message: CdpMessage) => void>();
  let lastId = 0;
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as CdpMessage;
    received.push(message);
    if (message.id !== undefined) answers.get(message.id)?.(message);
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return {
    received,
    closed,
    close: () => socket.close(),
    send: async (method, params = {}, sessionId) => {
      const id = ++lastId;
      const answer = new Promise<CdpMessage>((resolve) => answers.set(id, resolve));
      socket.send(JSON.stringify({ id, method, params, sessionId }));
      const { result, error } = await answer;
      if (!result) throw new Error(error?.message);
      return result;
    },
  };
}
