import { ServiceError } from '../client/errors.ts';
import type { Client } from '../client/index.ts';
import type { BrowserSession } from '../contract/browsers.ts';
import { engineText } from '../contract/engine-text.ts';
import type { OfferedEngine } from '../contract/organization.ts';
import { checkTransports } from './check-transports.ts';
import { connected, hostedURL } from './connection.ts';
import type { Examined, Finding } from './finding.ts';
import type { PlaywrightProject } from './suite-reporter.ts';

/** How much the clocks may differ, in ms. The expiry of keys and links depends on the service's clock. */
const clockTolerance = 5000;
const answerTimeout = 10_000;

/**
 * Checks that the service answers and accepts the key, that its browsers open pages over both transports, and that it
 * can record the projects' replays.
 */
export async function checkService(examined: Examined, projects: PlaywrightProject[]): Promise<Finding[]> {
  const { options, env, signal } = examined;
  const url = hostedURL(options, env);
  const isEmbedded = url === undefined;
  const check = 'service';
  try {
    return await connected(options, env, signal, async (client, _startedHere, { baseURL }) => {
      const pools = client.browserPools.list({ limit: 1 }, { signal, timeout: answerTimeout }).pages();
      await pools[Symbol.asyncIterator]().next();
      const message = isEmbedded ? 'the embedded service starts and answers' : `${url} answers and accepts the API key`;
      return [
        { check, level: 'ok', message },
        ...(isEmbedded ? [] : await checkClock(examined)),
        ...(await checkBrowsers(client, examined, isEmbedded, projects)),
        ...(await checkEngines(baseURL, signal)),
      ];
    });
  } catch (error) {
    const fix = isEmbedded
      ? 'see service.log in its data directory'
      : 'check PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY, or pool.service in the config. A firewall or proxy may block the service';
    return [{ check, level: 'failure', message: messageOf(error), fix }];
  }
}

async function checkBrowsers(
  client: Client,
  examined: Examined,
  isEmbedded: boolean,
  projects: PlaywrightProject[],
): Promise<Finding[]> {
  const { env, signal } = examined;
  const check = 'Chromium';
  try {
    const started = performance.now();
    const session = await client.browsers.create({ headless: true, timeout_seconds: 60 }, { signal });
    const message = `a headless browser starts in ${Math.round(performance.now() - started)} ms`;
    const { version, findings: transports } = await checkTransports(session, examined);
    const ofMachine = isEmbedded ? checkIsolation(env) : [];
    await client.browsers.deleteByID(session.session_id, { signal });
    return [
      { check, level: 'ok', message },
      ...(await checkBuild(env, isEmbedded, version)),
      ...ofMachine,
      ...transports,
      // The hosted service has no such URL.
      ...(session.playwright_ws_url === undefined ? projects.flatMap(checkReplay) : []),
      ...(!isEmbedded && projects.some(({ video }) => video !== 'off') ? checkVideos(session) : []),
    ];
  } catch (error) {
    if (error instanceof ServiceError && error.status === 429) {
      const fix = await adviceOnLimit(client, signal);
      return [{ check, level: 'warning', message: `no browser was free for a check: ${error.message}`, fix }];
    }
    const own =
      'npx playwright install --with-deps chromium-headless-shell, or set PLAYWRIGHT_POOL_CHROMIUM to the path of a Chromium';
    const fix = isEmbedded ? own : `on the machine of the service: ${own}. Its log has more`;
    return [{ check, level: 'failure', message: messageOf(error), fix }];
  }
}

/** Lists the browsers of the service's machines. The hosted service doesn't tell them. */
async function checkEngines(baseURL: string, signal: AbortSignal): Promise<Finding[]> {
  const answer = await fetch(new URL('/readyz', baseURL), {
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeout)]),
  }).catch(() => undefined);
  const { engines = [] } = (answer?.ok ? await answer.json().catch(() => ({})) : {}) as { engines?: OfferedEngine[] };
  return engines.map((engine) => ({ check: 'engine', level: 'ok', message: engineText(engine) }));
}

/** What to do if the limit of running browsers is reached. */
async function adviceOnLimit(client: Client, signal: AbortSignal): Promise<string> {
  const pools = [];
  for await (const pool of client.browserPools.list({}, { signal, timeout: answerTimeout })) pools.push(pool);
  if (pools.some(({ acquired_count }) => acquired_count > 0))
    return 'run doctor again when fewer tests run, or raise the limit';
  const idle = pools.filter(({ available_count }) => available_count > 0).map(({ id, name = id }) => name);
  const ends =
    idle.length > 0
      ? `make a pool smaller (idle browsers: ${idle.join(', ')})`
      : 'end sessions (npx playwright-pool sessions list)';
  return `no test runs: ${ends}, or raise the limit (serve --max-sessions)`;
}

function checkReplay({ name, replay, pool }: PlaywrightProject): Finding[] {
  if (replay === 'off' || pool.browsers?.headless !== true) return [];
  const message = `${name === '' ? '' : `${name}: `}replay is on, but the pool is headless`;
  const fix = 'the hosted service records headful browsers only: remove headless from the pool';
  return [{ check: 'replay', level: 'warning', message, fix }];
}

function checkVideos({
  playwright_versions = [],
  playwright_video_versions: recording = [],
}: BrowserSession): Finding[] {
  return playwright_versions
    .filter((version) => !recording.includes(version))
    .map((version) => ({
      check: 'video',
      level: 'warning',
      message: `the service has no ffmpeg for Playwright ${version}, so tests with a video use CDP, which is slow at a distance`,
      fix: `on the machine of the service: npx playwright@${version} install ffmpeg`,
    }));
}

/**
 * Says which Chromium the service starts, and which one Playwright expects. Warns if Playwright's own builds don't
 * include that.
 */
async function checkBuild(env: NodeJS.ProcessEnv, isEmbedded: boolean, version?: string): Promise<Finding[]> {
  const check = 'Chromium';
  const { findChromium, namedBuild } = await import('../service/profiles/local-chromium.ts');
  const warnings: Finding[] = [];
  const fix = 'npx playwright install --with-deps chromium-headless-shell';
  const path = isEmbedded
    ? await findChromium(true, env['PLAYWRIGHT_POOL_CHROMIUM']?.trim() || undefined, env, (message) => {
        warnings.push({ check, level: 'warning', message, fix });
      })
    : undefined;
  const expected = await namedBuild('chromium-headless-shell');
  const parts = [
    version === undefined ? 'of unknown version' : `version ${version}`,
    path && ` at ${path}`,
    expected?.browserVersion && `; Playwright ${expected.playwright} was made for ${expected.browserVersion}`,
  ];
  return [{ check, level: 'ok', message: parts.filter(Boolean).join('') }, ...warnings];
}

function checkIsolation(env: NodeJS.ProcessEnv): Finding[] {
  const check = 'isolation';
  const isRoot = process.getuid?.() === 0;
  if (isRoot && (process.platform !== 'linux' || env['PLAYWRIGHT_POOL_SESSION_UIDS']?.trim() === 'off')) {
    const fix = 'unset PLAYWRIGHT_POOL_SESSION_UIDS, or run the tests as another user';
    return [{ check, level: 'warning', message: 'browsers run as root, without a sandbox', fix }];
  }
  const message = isRoot
    ? 'each session has a user id of its own'
    : 'all sessions run as your user, in the sandbox: everybody who may use the service can read your files';
  return [{ check, level: 'ok', message }];
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
  // The header has no fractions of a second.
  const difference = Math.max(Math.abs(Date.now() - date) - 1000, 0);
  if (difference <= clockTolerance)
    return [{ check, level: 'ok', message: "this machine's clock agrees with the service's clock" }];
  const message = `this machine's clock differs from the service's clock by ${Math.round(difference / 1000)} s`;
  return [{ check, level: 'warning', message, fix: "set this machine's clock, for example with NTP" }];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
