import { launchChromium } from './browsers/chromium.ts';
import type { Commands } from './browsers/cdp-protocol.ts';
import { findChromium, hasDisplay, playwrightDirectory, type Environment } from './browsers/find-chromium.ts';
import { readSessionCookies } from './browsers/profile-directories.ts';

export { hasDisplay, playwrightDirectory };

/** What Chromium says unasked, over the connection of the one who started it. */
export type CdpMessage = { method: string; params: Record<string, unknown>; sessionId?: string };

/** A Chromium of this machine without a service around it. It ends with the process that started it. */
export type LocalChromium = {
  /** Where CDP clients connect; on this machine only. */
  wsEndpoint: string;
  /** Sends a command of the Chrome DevTools Protocol. Rejects when it is refused, and when there is no answer within 10 s. */
  send(method: string, params?: object, sessionId?: string): Promise<Record<string, unknown>>;
  /** Calls back for each event until the returned function is called. */
  onEvent(listener: (event: CdpMessage) => void): () => void;
  /** Resolves when Chromium is gone; never rejects. */
  exited: Promise<unknown>;
  kill(): Promise<void>;
};

/** Starts a Chromium on a user-data directory, with the cookies that a session saved and Chromium itself forgets. Rejects when it does not start. */
export async function startLocalChromium(options: {
  userDataDirectory: string;
  headless: boolean;
  /** Default: the one that a service would run. */
  executable?: string | undefined;
  /** Default: wherever it can be, that is not for the superuser. */
  sandbox?: boolean;
  environment: Environment;
  signal: AbortSignal;
}): Promise<LocalChromium> {
  const { headless, environment, userDataDirectory } = options;
  const executable = await findChromium(headless, options.executable, environment);
  const chromium = await launchChromium({ ...options, executable, viewport: { width: 1280, height: 720 } });
  const { cdp, wsEndpoint, exited } = chromium;
  const kill = () => chromium.kill();
  try {
    for (const cookie of await readSessionCookies(userDataDirectory)) {
      // One that this Chromium does not take must not keep out the others.
      await cdp.send('Storage.setCookies', { cookies: [cookie] }).catch(() => {});
    }
    return {
      wsEndpoint,
      exited,
      kill,
      // Commands and events are typed for the service, which sends but a few.
      send: async (method, params = {}, sessionId) =>
        (await cdp.send(method as keyof Commands, params, sessionId === undefined ? {} : { sessionId })) as Record<string, unknown>,
      onEvent: (listener) => cdp.onEvent((event) => listener(event)),
    };
  } catch (error) {
    await kill();
    throw error;
  }
}
