import type { CdpConnection } from './cdp/cdp-connection.ts';

const url = 'https://playwright-pool.invalid/';
/** Without an icon of its own, a browser with a window would ask for one. */
const html = Buffer.from('<!doctype html><link rel="icon" href="data:,">').toString('base64');

/**
 * Opens an empty page with a secure origin: only such a page has a clipboard and can encode video. No network is
 * involved: the service itself answers the page's request.
 */
export async function openSecurePage(
  cdp: CdpConnection,
  signal: AbortSignal,
  where: { browserContextId?: string; background?: boolean } = {},
): Promise<{ targetId: string; sessionId: string }> {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank', ...where }, { signal });
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
  const page = { sessionId, signal };
  const stop = cdp.onEvent((event) => {
    if (event.method !== 'Fetch.requestPaused' || event.sessionId !== sessionId) return;
    const { requestId } = event.params;
    const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
    const answer = { requestId, responseCode: 200, responseHeaders, body: html };
    cdp.send('Fetch.fulfillRequest', answer, { sessionId }).catch(() => {});
  });
  try {
    await cdp.send('Fetch.enable', {}, page);
    const { errorText } = await cdp.send('Page.navigate', { url }, page);
    if (errorText !== undefined) throw new Error(`the page ${url} did not open: ${errorText}`);
    await cdp.send('Fetch.disable', {}, page);
  } finally {
    stop();
  }
  return { targetId, sessionId };
}
