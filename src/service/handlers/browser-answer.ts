import type { Browser } from '../../contract/browsers.ts';
import type { Session } from '../browsers/session.ts';
import type { Clock } from '../clock.ts';

/** A session as the wire shows it. `host` is how the caller reaches the service. */
export function browserAnswer(session: Session, host: string, clock: Clock): Browser {
  const { settings, endedAt } = session;
  return {
    session_id: session.id,
    created_at: new Date(session.createdAt).toISOString(),
    cdp_ws_url: `ws://${host}/browser/cdp?jwt=${session.token}`,
    webdriver_ws_url: `ws://${host}/browser/webdriver/session?jwt=${session.token}`,
    browser_live_view_url: `http://${host}/browser/live?jwt=${session.liveViewToken}`,
    headless: settings.headless,
    stealth: settings.stealth,
    kiosk_mode: settings.kioskMode,
    timeout_seconds: session.timeoutSeconds,
    viewport: settings.viewport,
    ...(session.name && { name: session.name }),
    ...(session.tags && { tags: session.tags }),
    ...(session.profile && { profile: session.profile }),
    ...(session.profileSave && { profile_save: session.profileSave }),
    ...(session.pool && { pool: session.pool }),
    ...(settings.proxy && { proxy_id: settings.proxy.id }),
    ...(session.startUrl && { start_url: session.startUrl }),
    usage: { uptime_ms: Math.max(0, (endedAt ?? clock.now()) - session.createdAt) },
    ...(endedAt !== undefined && { deleted_at: new Date(endedAt).toISOString() }),
  };
}
