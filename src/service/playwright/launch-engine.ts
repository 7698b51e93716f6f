import { createRequire } from 'node:module';
import type { EngineLaunch, Launched } from './host-messages.ts';

/** The functions of Playwright that a host calls. Its types aren't among the libraries of the service. */
type BrowserType = {
  launchServer(options: {
    executablePath: string;
    channel?: string;
    firefoxUserPrefs?: Record<string, boolean>;
    proxy?: { server: string };
    host: string;
  }): Promise<{
    once(event: 'close', listener: () => void): void;
    wsEndpoint(): string;
    process(): { pid?: number; once(event: 'exit', listener: () => void): void };
    kill(): Promise<void>;
  }>;
  connect(endpoint: string): Promise<{ newContext(): Promise<unknown>; close(): Promise<void> }>;
};

/**
 * Launches a browser by the `playwright-core` in a directory, and offers it to clients of Playwright's protocol. Playwright
 * closes the contexts of a client that leaves. This process ends with the browser.
 */
export async function launchEngine(
  directory: string,
  { engine, executable, isForeign, proxy }: EngineLaunch,
): Promise<Launched> {
  const { [engine]: type } = createRequire(import.meta.url)(directory) as { [name in typeof engine]: BrowserType };
  const server = await type.launchServer({
    executablePath: executable,
    // Playwright speaks WebDriver BiDi with a Firefox that isn't its own build.
    ...(isForeign && { channel: 'moz-firefox' }),
    // The proxy connects to loopback addresses itself, or through a tunnel. Playwright's own build needs no preference.
    ...(isForeign && { firefoxUserPrefs: { 'network.proxy.allow_hijacking_localhost': true } }),
    ...(proxy !== undefined && { proxy: { server: proxy } }),
    host: '127.0.0.1',
  });
  const endpoint = server.wsEndpoint();
  if (isForeign) {
    await tryContext(type, endpoint).catch(async (error: unknown) => {
      // Without namespaces, nothing else ends it.
      await server.kill();
      throw error;
    });
  }
  server.once('close', () => process.exit(0));
  // At once, so that clients know it before they use the browser again: Playwright waits for the end of its children, too.
  server.process().once('exit', () => process.exit(0));
  return { endpoint, pid: server.process().pid! };
}

/** Throws Playwright's reason if it doesn't understand the browser. */
async function tryContext(type: BrowserType, endpoint: string): Promise<void> {
  const browser = await type.connect(endpoint);
  await browser.newContext();
  await browser.close();
}
