import { once } from 'node:events';
import { expect, type BrowserContextOptions, type Page } from '@playwright/test';
import { WebSocket } from 'ws';
import { Addresses } from '../../../src/service/http/addresses.ts';
import { listen } from '../../../src/service/http/server.ts';
import { SocketRoutes } from '../../../src/service/http/socket-route.ts';
import { LiveView, liveSession } from '../../../src/service/live-view/live-view.ts';
import { liveViewRoute, type LiveSession } from '../../../src/service/live-view/live-view-sockets.ts';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { createPages } from '../../../src/service/views.ts';
import { linkToken } from '../../../src/service/process/links.ts';
import { test as base } from '../service/browser-sessions.ts';

type Fixtures = {
  /** How many bytes of pictures the session has made for viewers. */
  produced: { bytes: number };
  sockets: SocketRoutes;
  /** The address of the service's pages. */
  url: string;
  /** An address like `browser_live_view_url`. */
  link: string;
  /** Opens a page in the session that records its input. */
  openPage: (options?: BrowserContextOptions, html?: string) => Promise<Page>;
  /** Opens the live view and waits until it shows a picture. */
  view: (query?: string) => Promise<Page>;
  /** Connects a viewer by its socket only, without a page. */
  connectViewer: (query?: string) => Promise<WebSocket>;
};

/** A page that records its input. */
export const recorder = `
  <body style="margin: 0; height: 3000px; background: lime"><input style="position: absolute; left: 100px; top: 100px"><input>
  <script>
    window.events = [];
    for (const type of ['mousemove', 'mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'keydown', 'keyup']) {
      addEventListener(type, ({ clientX: x, clientY: y, button, buttons, key, ctrlKey }) => events.push({ type, x, y, button, buttons, key, ctrlKey }));
    }
  </script>`;

export const test = base.extend<Fixtures>({
  viewport: { width: 900, height: 500 },
  produced: async ({}, use) => use({ bytes: 0 }),
  sockets: async ({ sessions, clock, produced }, use) => {
    const view = (session: LocalSession): LiveSession => ({
      ...liveSession(session),
      liveView: ({ onFrame, ...viewer }) => {
        const countFrame = (jpeg: Buffer) => {
          produced.bytes += jpeg.length;
          onFrame(jpeg);
        };
        return new LiveView(session, { onFrame: countFrame, ...viewer });
      },
    });
    const route = liveViewRoute({ find: (token) => sessions.byLiveViewToken(token), view, clock });
    await use(new SocketRoutes({ '/browser/live/socket': route }));
    route.close();
  },
  url: async ({ sessions, sockets }, use) => {
    const pages = createPages({
      findReplay: () => undefined,
      findLiveView: (token) => sessions.byLiveViewToken(token),
      findLogin: () => undefined,
      addresses: new Addresses(),
    });
    const server = await listen({
      fetch: pages.fetch,
      port: 0,
      upgrade: (...upgrade) => sockets.upgrade(...upgrade),
    });
    await use(server.url);
    server.stop();
    sockets.close();
    await server.drain();
  },
  link: async ({ url, session }, use) => {
    const token = linkToken(session.lease.liveViewToken, { apiKeyId: 'key', now: 0, lifeMs: 0 });
    await use(`${url}/browser/live?jwt=${token}`);
  },
  openPage: async ({ session, connect }, use) => {
    const browser = await connect(session);
    await use(async (options = { viewport: { width: 1280, height: 720 } }, html = recorder) => {
      const opened = await (await browser.newContext(options)).newPage();
      await opened.setContent(html);
      return opened;
    });
  },
  view: async ({ page, link }, use) => {
    await use(async (query = '') => {
      await page.goto(`${link}${query}`);
      await expect(page.getByRole('status')).toHaveText('Live');
      return page;
    });
  },
  connectViewer: async ({ link }, use) => {
    const opened: WebSocket[] = [];
    await use(async (query = '') => {
      const socket = new WebSocket(socketOf(link) + query);
      opened.push(socket);
      await once(socket, 'open');
      return socket;
    });
    for (const socket of opened) socket.terminate();
  },
});

export async function expectEnded(viewer: Page, link: string): Promise<void> {
  await expect(viewer.getByRole('status')).toHaveText('Ended: the session has ended, or its lease was given back.');
  expect((await viewer.goto(link))!.status()).toBe(404);
}

/** The address of a live view's socket. */
export const socketOf = (link: string) => link.replace('http:', 'ws:').replace('/live?', '/live/socket?');

export async function nextPicture(viewer: WebSocket): Promise<void> {
  for (;;) {
    const [, isBinary] = (await once(viewer, 'message')) as [Buffer, boolean];
    if (isBinary) return;
  }
}

/** A point of the viewer's window, from a fraction of the picture. */
export async function pointAt(viewer: Page, x: number, y: number): Promise<{ x: number; y: number }> {
  return viewer.locator('canvas').evaluate(
    (element, [x, y]) => {
      const canvas = element as HTMLCanvasElement;
      const box = canvas.getBoundingClientRect();
      const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
      const [centerX, centerY] = [box.x + box.width / 2, box.y + box.height / 2];
      return { x: centerX + (x! - 0.5) * canvas.width * scale, y: centerY + (y! - 0.5) * canvas.height * scale };
    },
    [x, y],
  );
}

export async function clickAt(viewer: Page, x: number, y: number, options: object = {}): Promise<void> {
  const point = await pointAt(viewer, x, y);
  await viewer.mouse.click(point.x, point.y, options);
}

/** The colour in the middle of the picture. */
export const middle = (viewer: Page) =>
  viewer.locator('canvas').evaluate((element) => {
    const { width, height } = element as HTMLCanvasElement;
    const { data } = (element as HTMLCanvasElement).getContext('2d')!.getImageData(width / 2, height / 2, 1, 1);
    return Array.from(data.slice(0, 3), (value) => (value > 127 ? 1 : 0)).join('');
  });

type SeenEvent = { type: string; x: number; y: number; button: number; buttons: number; key: string; ctrlKey: boolean };

export async function eventsOf(ours: Page, ...types: string[]): Promise<SeenEvent[]> {
  const events: SeenEvent[] = await ours.evaluate('events');
  return events.filter(({ type }) => types.includes(type));
}
