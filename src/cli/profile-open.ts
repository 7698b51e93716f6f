import { once } from 'node:events';
import { hasDisplay, startLocalChromium } from '../service/profiles/local-chromium.ts';
import type { ConnectionOptions } from './connection.ts';
import { withCopy } from './profile-copy.ts';
import { printJSON } from './table.ts';

export type OpenOptions = ConnectionOptions & {
  headless?: boolean;
  chromium?: string;
  sandbox: boolean;
  json?: boolean;
};

/** Runs Chromium on a copy of a profile, until the user closes it or interrupts the command. */
export async function openCopy(
  profile: string,
  options: OpenOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const headless = options.headless || !hasDisplay(env);
  await withCopy(profile, options, env, signal, async (userDataDirectory) => {
    const chromium = await startLocalChromium({
      userDataDirectory,
      headless,
      executable: options.chromium ?? env['PLAYWRIGHT_POOL_CHROMIUM']?.trim(),
      ...(!options.sandbox && { sandbox: false }),
      environment: env,
      signal,
    });
    try {
      await chromium.cdp.send('Target.createTarget', { url: 'about:blank' });
      const url = await chromium.listen();
      if (options.json) printJSON({ cdp_ws_url: url, headless });
      else {
        if (headless && !options.headless) console.log('There is no display, so Chromium runs without a window.');
        console.log(`A copy of ${profile} is open at ${url}`);
        console.log('Ctrl+C ends it. Changes in the copy are not saved.');
      }
      if (!signal.aborted) await Promise.race([chromium.exited, once(signal, 'abort')]);
    } finally {
      await chromium.kill();
    }
  });
}
