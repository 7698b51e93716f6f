import type { CdpConnection } from '../chromium/cdp/cdp-connection.ts';
import type { SessionBrowser } from '../sessions/local/session-browser.ts';

/** A page of the default context that only the service sees. Its requests stop until the service continues them. */
export class HiddenPage {
  readonly cdp: CdpConnection;
  readonly sessionId: string;
  readonly targetId: string;

  private constructor(cdp: CdpConnection, targetId: string, sessionId: string) {
    this.cdp = cdp;
    this.targetId = targetId;
    this.sessionId = sessionId;
  }

  static async open({ chromium: { cdp }, ownTargets }: SessionBrowser): Promise<HiddenPage> {
    // Clients get no event about the page before its id is known.
    const { targetId } = await cdp.send(
      'Target.createTarget',
      { url: 'about:blank', hidden: true },
      { timeoutMs: 5000, first: ({ targetId }) => ownTargets.add(targetId) },
    );
    try {
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
      const patterns = [{ urlPattern: '*', requestStage: 'Request' as const }];
      await Promise.all([
        cdp.send('Fetch.enable', { patterns, handleAuthRequests: true }, { sessionId }),
        // Only its events have the header Set-Cookie. The bodies aren't kept.
        cdp.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }, { sessionId }),
      ]);
      return new HiddenPage(cdp, targetId, sessionId);
    } catch (error) {
      closeTarget(cdp, targetId);
      throw error;
    }
  }

  close(): void {
    closeTarget(this.cdp, this.targetId);
  }
}

function closeTarget(cdp: CdpConnection, targetId: string): void {
  cdp.send('Target.closeTarget', { targetId }).catch(() => {});
}
