import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { HttpProxy } from '../http/http-proxy.ts';
import { serve } from '../http/serve.ts';
import { test as base } from './organization.ts';

export const username = 'robot';
export const password = 'pa55-of-the-proxy';
export const credentials = `${username}:${password}`;

type Fixtures = {
  /** The address of a site that answers with the requested host and the headers. */
  site: string;
  /** A proxy that lets everybody through, but only to the site. */
  open: HttpProxy;
  /** The same with `credentials`. */
  guarded: HttpProxy;
};

export const test = base.extend<Fixtures>({
  site: async ({}, use) => {
    const server = createServer(({ method, headers }, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>${headers.host}</title><p>${method} ${JSON.stringify(headers)}</p>`);
    });
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('message', (data: Buffer) => socket.send(`echo of ${String(data)}`));
    });
    await using site = await serve(server);
    await use(site.url);
  },
  open: async ({ site }, use) => {
    await using proxy = await HttpProxy.start({ site });
    await use(proxy);
  },
  guarded: async ({ site }, use) => {
    await using proxy = await HttpProxy.start({ site, credentials });
    await use(proxy);
  },
});

/** The proxy resource for a proxy on this machine. */
export function custom(port: number, config: object = {}) {
  return { type: 'custom', protocol: 'http', config: { host: '127.0.0.1', port, ...config } } as const;
}
