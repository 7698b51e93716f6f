import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server with one small page. */
export class PageServer implements AsyncDisposable {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(): Promise<PageServer> {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<title>Page</title><h1>Page</h1>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new PageServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
