import { isDeepStrictEqual } from 'node:util';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Engine, LaunchOptions } from '../../contract/values.ts';
import { clientSwitches, windowSizeIn } from '../chromium/client-switches.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';

/** An engine without CDP. */
export type OtherEngine = Exclude<Engine, 'chromium'>;

/**
 * The launch options of a lease's client that have an effect on its browser. `playwright`: the version of the client, which
 * counts for other engines than Chromium.
 */
export type Launch = {
  args: string[];
  channel?: string;
  headless?: false;
  proxy?: ProxyAccess;
  playwright?: string | undefined;
};

/** The engine for which a client sends launch options, and the client's version of Playwright if it names one. */
export type LaunchedFor = { engine?: Engine | undefined; playwright?: string | undefined };

/** The settings of a browser that launch options change. */
type Launchable = { headless: boolean; channel?: string; extraSwitches?: readonly string[] };

/**
 * What the browsers of a service can be. `checkChannel` throws `bad_request`. Without it, the machines check. `checkEngine`
 * throws `no_browser`.
 */
type Offer = {
  hasDisplay: boolean;
  checkChannel?(channel: string): Promise<unknown>;
  checkEngine?(engine: OtherEngine, playwright: string): Promise<void>;
};

/**
 * Returns the launch options that have an effect. Throws `bad_request`, naming the option, for those that the service
 * refuses. Options of the client's own machine are ignored, such as `executablePath`, `env` and `timeout`.
 */
export async function requestedLaunch(
  options: LaunchOptions | undefined,
  offer: Offer,
  { engine = 'chromium', playwright }: LaunchedFor = {},
): Promise<Launch | undefined> {
  if (engine !== 'chromium') {
    if (!options && playwright === undefined) return undefined;
    const launch = otherLaunch(engine, options, playwright);
    if (playwright !== undefined) await offer.checkEngine?.(engine, playwright);
    return launch;
  }
  if (!options) return undefined;
  const { args = [], channel, headless, proxy, ignoreDefaultArgs } = options;
  if (ignoreDefaultArgs === true || (ignoreDefaultArgs && ignoreDefaultArgs.length > 0))
    throw invalidField('launchOptions.ignoreDefaultArgs', 'the service needs its own switches: remove the option');
  const launch = {
    args: clientSwitches(args),
    ...(channel && { channel }),
    // Playwright Test sends true by default.
    ...(headless === false && offer.hasDisplay && { headless }),
    ...(proxy && { proxy: proxyOf(proxy) }),
  };
  if (channel) await offer.checkChannel?.(channel);
  return launch;
}

/**
 * The launch options of another engine than Chromium: a proxy. Throws `bad_request` for switches and names of browsers, which
 * that engine doesn't know.
 */
function otherLaunch(
  engine: OtherEngine,
  { args = [], channel, proxy, ignoreDefaultArgs }: LaunchOptions = {},
  playwright: string | undefined,
): Launch {
  const refused = Object.entries({ args: args.length > 0, channel, ignoreDefaultArgs }).find(([, isSet]) => isSet);
  if (refused) throw invalidField(`launchOptions.${refused[0]}`, `${engine} takes none here: remove the option`);
  return { args: [], playwright, ...(proxy && { proxy: proxyOf(proxy) }) };
}

/** The settings of a browser that is started with launch options. Its proxy and its size are set when it runs. */
export function launchedWith<S extends Launchable>(settings: S, launch: Launch | undefined): S {
  const { args = [], channel, headless } = launch ?? {};
  const extraSwitches = [...(settings.extraSwitches ?? []), ...args.filter((text) => !windowSizeIn([text]))];
  return {
    ...settings,
    ...(extraSwitches.length > 0 && { extraSwitches }),
    ...(channel && { channel }),
    ...(headless === false && { headless }),
  };
}

/** Whether a browser that was started with one of two launch options fits the other, too. */
export function isSameLaunch(settings: Launchable, one: Launch | undefined, other: Launch | undefined): boolean {
  return one === other || isDeepStrictEqual(launchedWith(settings, one), launchedWith(settings, other));
}

/** The launch options for answers and for machines: without the proxy, which has a password. */
export function withoutProxy({ args, channel, headless }: Launch): Omit<Launch, 'proxy'> {
  return { args, ...(channel && { channel }), ...(headless === false && { headless }) };
}

/** Throws `bad_request` if a browser that ran without launch options didn't start with them. Throws other errors on. */
export function refuseLaunch(error: unknown): never {
  if (!(error instanceof OperationError && error.code === 'unavailable')) throw error;
  throw invalidField('launchOptions', error.message);
}

/** Throws `bad_request`. */
function proxyOf({ server, bypass = '', username, password }: NonNullable<LaunchOptions['proxy']>): ProxyAccess {
  const url = /^\w+:\/\//.test(server) ? server : `http://${server}`;
  const field = 'launchOptions.proxy';
  if (!URL.canParse(url)) throw invalidField(field, 'server must be a URL such as http://proxy.example.com:3128');
  const { protocol, hostname, port } = new URL(url);
  if (!['http:', 'https:'].includes(protocol))
    throw invalidField(field, "only http and https proxies work here: use Playwright's option proxy of contexts");
  const bypassHosts = bypass.split(/[;,]/).flatMap((host) => host.trim() || []);
  if (bypassHosts.some((host) => !/^(\*?\.)?[\w-]+(\.[\w-]+)*$/.test(host)))
    throw invalidField(field, 'bypass must list host names; `*.` before a domain includes its subdomains');
  return {
    id: '',
    protocol: protocol === 'https:' ? 'https' : 'http',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    bypassHosts,
    ...(username && { username }),
    ...(password && { password }),
  };
}
