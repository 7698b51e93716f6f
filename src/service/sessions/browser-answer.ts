import { setImmediate } from 'node:timers/promises';
import type { BrowserSession } from '../../contract/browsers.ts';
import { launchedWith, withoutProxy } from './launch.ts';
import type { Session } from './session.ts';
import type { Clock } from '../process/clock.ts';
import { linkToken } from '../process/links.ts';
import { browserPath, type Caller } from '../http/handler.ts';

const liveViewLifeMs = 24 * 3600 * 1000;

/** The origin by which the caller reaches the service, and the caller. */
export type Asked = { origin: string; caller: Caller };

/** The API's answer about a session, with URLs that this caller can use. */
export function browserAnswer(session: Session, { origin, caller }: Asked, clock: Clock): BrowserSession {
  const { lease, endedAt } = session;
  const videoVersions = session.videoVersions();
  const settings = launchedWith(session.settings, session.launch);
  const socketOrigin = origin.replace(/^http/, 'ws');
  const link = { origin, apiKeyId: caller.apiKey.id, clock };
  return {
    session_id: session.id,
    created_at: new Date(session.createdAt).toISOString(),
    cdp_ws_url: `${socketOrigin}/browser/cdp?jwt=${lease.token}`,
    ...(session.playwrightVersions.length > 0 && {
      playwright_ws_url: `${socketOrigin}/browser/playwright?jwt=${lease.token}`,
      playwright_versions: [...session.playwrightVersions],
    }),
    ...(videoVersions.length > 0 && { playwright_video_versions: [...videoVersions] }),
    webdriver_ws_url: `${socketOrigin}/browser/webdriver/session?jwt=${lease.token}`,
    base_url: `${origin}${browserPath}`,
    ...(session.hasTunnel && { tunnel_ws_url: `${socketOrigin}/browser/tunnel?jwt=${lease.token}` }),
    browser_live_view_url: liveViewUrl(session, link),
    read_only_live_view_url: liveViewUrl(session, { ...link, isReadOnly: true }),
    ...session.place?.links,
    ...(settings.engine && { engine: settings.engine }),
    headless: settings.headless,
    stealth: settings.stealth,
    kiosk_mode: settings.kioskMode,
    gpu: false,
    chrome_policy: {},
    telemetry: telemetryAnswer(session),
    timeout_seconds: session.timeoutSeconds,
    ...(endedAt === undefined && { idle_seconds: Math.floor(session.idleMs / 1000) }),
    viewport: settings.viewport,
    ...(lease.name && { name: lease.name }),
    ...(lease.tags && { tags: lease.tags }),
    ...(session.profile && { profile: session.profile }),
    ...(session.profileVersion !== undefined && !session.wasReused && { profile_version: session.profileVersion }),
    ...(session.profileSave && { profile_save: session.profileSave }),
    ...(lease.pool && { pool: lease.pool }),
    ...(lease.leasedAt !== undefined && { leased_at: new Date(lease.leasedAt).toISOString() }),
    ...(settings.proxy?.id && { proxy_id: settings.proxy.id }),
    ...(lease.startUrl && { start_url: lease.startUrl }),
    ...(lease.launch && { launch_options: withoutProxy(lease.launch) }),
    ...(session.canceledDownloads > 0 && { downloads_canceled: session.canceledDownloads }),
    ...(session.place && { machine: session.place.machine }),
    ...(session.endReason && { end_reason: session.endReason }),
    usage: { uptime_ms: Math.max(0, (endedAt ?? clock.now()) - session.createdAt) },
    ...(endedAt !== undefined && { deleted_at: new Date(endedAt).toISOString() }),
  };
}

/**
 * Watches the caller that gets a started or leased session. Calls `takeBack` if the caller hangs up before it gets the
 * answer. Resolves when the answer can be sent.
 */
export async function handOver(session: Session, signal: AbortSignal, takeBack: () => void): Promise<void> {
  const { lease } = session;
  // The event loop must read from the socket again to see that a caller hung up right after its request.
  await setImmediate();
  await setImmediate();
  // The signal may also abort right after the answer. Then another caller may have the session already, with another lease.
  const takeOwnBack = () => {
    if (session.alive && session.lease === lease) takeBack();
  };
  if (signal.aborted) takeOwnBack();
  else signal.addEventListener('abort', takeOwnBack, { once: true });
}

/** A link to the live view of a session. It works for a day, as long as the API key with this id is valid. */
export function liveViewUrl(
  { lease: { liveViewToken } }: Session,
  {
    origin,
    apiKeyId,
    clock,
    isReadOnly = false,
  }: { origin: string; apiKeyId: string; clock: Clock; isReadOnly?: boolean },
): string {
  const token = linkToken(liveViewToken, { apiKeyId, now: clock.now(), lifeMs: liveViewLifeMs, isReadOnly });
  return `${origin}/browser/live?jwt=${token}`;
}

function telemetryAnswer({ lease: { telemetry } }: Session): BrowserSession['telemetry'] {
  if (telemetry.length === 0) return null;
  return { browser: Object.fromEntries(telemetry.map((category) => [category, { enabled: true }])) };
}
