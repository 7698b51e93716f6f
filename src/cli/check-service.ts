import type { Client } from '../client/index.ts';
import { connected, hostedURL } from './connection.ts';
import type { Examined, Finding } from './finding.ts';

/** How far the service's clock may differ, in milliseconds: signatures and expiry of keys are judged by it. */
const clockTolerance = 5000;
const answerTimeout = 10_000;

/** Checks that the service answers, takes the key and, where it is the embedded one, starts browsers. */
export async function checkService(examined: Examined): Promise<Finding[]> {
  const { options, env, signal } = examined;
  const url = hostedURL(options, env);
  const isEmbedded = url === undefined;
  const check = 'service';
  try {
    return await connected(options, env, signal, async (client) => {
      await client.browserPools.list({ limit: 1 }, { signal, timeout: answerTimeout }).pages()[Symbol.asyncIterator]().next();
      const message = isEmbedded ? 'the embedded one starts and answers' : `${url} answers, and takes the API key`;
      return [{ check, level: 'ok', message }, ...(await (isEmbedded ? checkChromium(client, signal) : checkClock(examined)))];
    });
  } catch (error) {
    const fix = isEmbedded
      ? 'see service.log in its data directory'
      : 'check PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY, or poolService in the config, and whether a firewall or proxy is in the way';
    return [{ check, level: 'failure', message: messageOf(error), fix }];
  }
}

async function checkChromium(client: Client, signal: AbortSignal): Promise<Finding[]> {
  const check = 'Chromium';
  try {
    const started = performance.now();
    const { session_id } = await client.browsers.create({ headless: true }, { signal });
    const message = `a headless browser starts in ${Math.round(performance.now() - started)} ms`;
    await client.browsers.deleteByID(session_id, { signal });
    return [{ check, level: 'ok', message }, ...checkSandbox()];
  } catch (error) {
    const fix = 'npx playwright install --with-deps chromium-headless-shell, or set PLAYWRIGHT_POOL_CHROMIUM to one';
    return [{ check, level: 'failure', message: messageOf(error), fix }];
  }
}

function checkSandbox(): Finding[] {
  if (process.getuid?.() !== 0) return [{ check: 'sandbox', level: 'ok', message: 'Chromium runs in its sandbox' }];
  const fix = 'run the tests of pages that you do not trust as another user';
  return [{ check: 'sandbox', level: 'warning', message: 'Chromium refuses its sandbox to root, and runs without it', fix }];
}

async function checkClock({ options, env, signal }: Examined): Promise<Finding[]> {
  const check = 'clock';
  const response = await fetch(hostedURL(options, env)!, {
    method: 'HEAD',
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeout)]),
  });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(date)) return [];
  // The header has whole seconds.
  const difference = Math.max(Math.abs(Date.now() - date) - 1000, 0);
  if (difference <= clockTolerance) return [{ check, level: 'ok', message: "that of the service and this machine's agree" }];
  const message = `that of the service and this machine's differ by ${Math.round(difference / 1000)} s`;
  return [{ check, level: 'warning', message, fix: "set this machine's clock, by NTP for instance" }];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
