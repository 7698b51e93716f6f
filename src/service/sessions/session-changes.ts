import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { StartAgain } from './local/launched-chromium.ts';
import type { LocalSession } from './local/local-session.ts';
import type { ExtensionFiles } from './local/session-extensions.ts';

/**
 * Loads extensions into a session, all or none. If its browser was started without extensions, `start` restarts it on the
 * same user-data directory: its pages, clients and recordings end. If that fails, the session ends. Throws `conflict`
 * while another call replaces the browser.
 */
export async function loadExtensions(
  session: LocalSession,
  files: ExtensionFiles[],
  { signal, start }: { signal: AbortSignal; start: StartAgain },
): Promise<void> {
  await session.change(async (restart) => {
    const added = await session.extensions.add(files, signal);
    try {
      session.isChanged = true;
      if (!session.browser.chromium.takesExtensions) await restart(start);
      await session.extensions.loadInto(session.cdp, added);
    } catch (error) {
      await session.extensions.remove(added);
      throw error;
    }
  });
}

/**
 * Sends a session's requests through another proxy, or directly. If the browser must restart for that, `start` restarts it
 * as in `loadExtensions`. Throws `conflict` while another call replaces the browser.
 */
export async function changeProxy(
  session: LocalSession,
  proxy: ProxyAccess | undefined,
  start: StartAgain,
): Promise<void> {
  await session.change(async (restart) => {
    session.isChanged = true;
    if (!(await session.browser.chromium.egress.change(proxy))) {
      await restart(start);
      await session.extensions.loadInto(session.cdp);
    }
    if (proxy) session.settings.proxy = proxy;
    else delete session.settings.proxy;
  });
}
