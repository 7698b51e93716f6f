import { createReadStream } from 'node:fs';
import type { BrowserSession } from '../../contract/browsers.ts';
import { telemetryOf } from '../../contract/telemetry.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import { traceHeaders } from '../process/network/trace-headers.ts';
import type { ProfileDirectories } from '../profiles/profile-directories.ts';
import { linkNames, type Links, type SessionSettings } from '../sessions/session.ts';
import type { Host } from './host.ts';
import { ownerTags, profileName } from './owner-tags.ts';
import { SentProfile } from './sent-profile.ts';

/** The uploaded archives of extensions. */
export type StoredArchives = {
  archiveOf(id: string): string;
  /** Records that a browser starts with the extension now. */
  used(id: string): void;
};

type Launch = { launch: string; profiles: ProfileDirectories; extensions: StoredArchives; signal: AbortSignal };

/** Added to the idle timeout on the machine, so that the control plane ends unused sessions first. */
const spareSeconds = 3600;
const longestIdleSeconds = 72 * 3600;

/** Sends the profile and the proxy of the settings to a machine, then starts a browser with its extensions there. */
export async function startOn(
  machine: Host,
  settings: SessionSettings,
  { launch, profiles, extensions, signal }: Launch,
): Promise<{ browser: BrowserSession; sent: SentProfile | undefined; profileVersion: string | undefined }> {
  const { client, owner } = machine;
  const name = profileName(owner, launch);
  const { profile, proxy } = settings;
  const sent = profile && (await SentProfile.send({ id: profile.id, name }, { client, directories: profiles, signal }));
  const isSingle = settings.poolId === undefined;
  let proxyId: string | undefined;
  try {
    proxyId = proxy && (await client.proxies.create(newProxy(proxy, name), { signal })).id;
    const browser = await client.browsers.create(
      {
        tags: ownerTags(owner, launch),
        ...(settings.engine && { engine: settings.engine }),
        headless: settings.headless,
        stealth: settings.stealth,
        kiosk_mode: settings.kioskMode,
        timeout_seconds: Math.min(longestIdleSeconds, settings.timeoutSeconds + spareSeconds),
        // Other engines take none.
        ...(!settings.engine && { viewport: settings.viewport }),
        ...(sent && { profile: { name, save_changes: isSingle } }),
        ...(proxyId !== undefined && { proxy_id: proxyId }),
        ...(settings.telemetry && { telemetry: telemetryOf(settings.telemetry) }),
        ...(settings.tunnel && { tunnel: true }),
        ...(settings.channel && { launch_options: { channel: settings.channel } }),
        ...(settings.extraSwitches && { chromium_args: [...settings.extraSwitches] }),
      },
      { signal, maxRetries: 0, headers: traceHeaders() },
    );
    if (settings.extensions)
      await sendExtensions(client, browser.session_id, settings.extensions, { extensions, signal });
    // A pool's browser works on a copy and never saves it, so the sent profile isn't needed any more.
    if (!isSingle) await sent?.remove();
    return { browser, sent: isSingle ? sent : undefined, profileVersion: sent?.record.copyOf };
  } catch (error) {
    await sent?.remove();
    throw error;
  } finally {
    if (proxyId !== undefined) await client.proxies.delete(proxyId).catch(() => {});
  }
}

/** Loads extensions into a new session. Ends the session if that fails. */
async function sendExtensions(
  client: Host['client'],
  sessionId: string,
  stored: NonNullable<SessionSettings['extensions']>,
  { extensions, signal }: Pick<Launch, 'extensions' | 'signal'>,
): Promise<void> {
  try {
    const files = stored.map(({ id, name = id }) => ({ name, zip_file: createReadStream(extensions.archiveOf(id)) }));
    await client.browsers.loadExtensions(sessionId, { extensions: files }, { signal, headers: traceHeaders() });
    for (const { id } of stored) extensions.used(id);
  } catch (error) {
    await client.browsers.deleteByID(sessionId).catch(() => {});
    throw error;
  }
}

/** Gives a running session on a machine another proxy, or none. */
export async function changeProxyOn(
  machine: Host,
  { id }: { id: string },
  { proxy, signal }: { proxy: ProxyAccess | undefined; signal: AbortSignal },
): Promise<void> {
  const { client, owner } = machine;
  const sent = proxy && (await client.proxies.create(newProxy(proxy, profileName(owner, id)), { signal })).id;
  try {
    await client.browsers.update(id, { proxy_id: sent ?? '' }, { signal, headers: traceHeaders() });
  } finally {
    if (sent !== undefined) await client.proxies.delete(sent).catch(() => {});
  }
}

/** Returns the `Links` in a machine's answer, without the other fields. */
export function linksOf(answer: Links): Links {
  const given = linkNames.filter((name) => answer[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, answer[name]])) as Links;
}

function newProxy({ protocol, host, port, username, password, caBundle, bypassHosts }: ProxyAccess, name: string) {
  return {
    type: 'custom' as const,
    name,
    protocol,
    bypass_hosts: bypassHosts,
    config: {
      host,
      port,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(caBundle !== undefined && { ca_bundle: caBundle }),
    },
  };
}
