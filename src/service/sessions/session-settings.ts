import type { BrowserCreate } from '../../contract/browsers.ts';
import { invalidField, unsupportedFields, OperationError } from '../../contract/errors.ts';
import { requestedCategories } from '../../contract/telemetry.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { SessionSettings, StoredExtension } from './session.ts';
import type { OtherEngine } from './launch.ts';
import { checkExtraSwitches } from '../chromium/switches.ts';

type ExtensionSelector = BrowserCreate['extensions'][number];

export type ProfileSelector = NonNullable<BrowserCreate['profile']>;

/** Finds a profile by id or name; throws `not_found`. */
export type ResolveProfile = (selector: ProfileSelector) => Profile;

/**
 * The display, profiles, proxies and extensions of a project, which settings of a session refer to. The functions throw
 * `not_found`.
 */
export type Surroundings = {
  projectId: string;
  hasDisplay: boolean;
  /** The end of an error message: why there is no display, and how to get a browser. */
  noDisplay?: string;
  resolveProfile: ResolveProfile;
  resolveProxy: (id: string) => ProxyAccess;
  resolveExtension: (selector: ExtensionSelector) => StoredExtension;
};

const noOwnDisplay = 'the service has none: set DISPLAY for it, or request a headless browser';

/** Fields that single sessions and pools have in common. */
type Request = Pick<
  BrowserCreate,
  | 'engine'
  | 'headless'
  | 'stealth'
  | 'kiosk_mode'
  | 'timeout_seconds'
  | 'viewport'
  | 'profile'
  | 'start_url'
  | 'proxy_id'
  | 'chromium_args'
  | 'tunnel'
  | 'telemetry'
> & { extensions?: readonly ExtensionSelector[] } & Unsupported;

/** Fields of the hosted service's SDK (`@onkernel/sdk`) that this service refuses. */
type Unsupported = {
  gpu?: boolean;
  chrome_policy?: Record<string, unknown>;
};

/**
 * Returns the settings of a session from the body of `POST /browsers` or the configuration of a pool.
 * Throws `not_implemented` for settings that the service doesn't support, and `bad_request`, naming the field in
 * `details`, for refused switches, and for a profile, proxy or extension that doesn't exist.
 */
export function sessionSettings(
  request: Request,
  { projectId, hasDisplay, noDisplay = noOwnDisplay, resolveProfile, resolveProxy, resolveExtension }: Surroundings,
): SessionSettings {
  refuseUnsupported(request);
  checkExtraSwitches(request.chromium_args ?? []);
  const engine = request.engine === 'chromium' ? undefined : request.engine;
  if (engine) refuseForEngine(engine, request);
  const headless = engine !== undefined || (request.headless ?? !hasDisplay);
  if (!headless && !hasDisplay) throw invalidField('headless', `false needs a display, and ${noDisplay}`);
  const profile = request.profile && requestedProfile(request.profile, resolveProfile);
  const telemetry = requestedCategories(request.telemetry) ?? [];
  const proxy = requestedProxy(request.proxy_id, resolveProxy);
  const extensions = requestedExtensions(request.extensions ?? [], resolveExtension);
  return {
    projectId,
    ...(engine && { engine }),
    headless,
    stealth: request.stealth,
    kioskMode: request.kiosk_mode,
    timeoutSeconds: request.timeout_seconds,
    viewport: request.viewport ? withRefreshRate(request.viewport) : defaultViewport,
    ...(profile && { profile }),
    ...(request.profile?.save_changes && { saveChanges: true }),
    ...(proxy && { proxy }),
    ...(telemetry.length > 0 && { telemetry }),
    ...(extensions.length > 0 && { extensions }),
    ...(request.tunnel && { tunnel: true }),
    ...(request.start_url && { startUrl: request.start_url }),
    ...(request.chromium_args?.length && { extraSwitches: request.chromium_args }),
  };
}

/** Throws `not_implemented` if a request has fields that work only with Chromium. */
function refuseForEngine(engine: OtherEngine, request: Request): void {
  const { headless, stealth, kiosk_mode, viewport, profile, start_url, chromium_args = [], tunnel } = request;
  const asked = {
    headless: headless === false,
    stealth,
    kiosk_mode,
    viewport,
    profile,
    start_url,
    chromium_args: chromium_args.length > 0,
    tunnel,
    telemetry: (requestedCategories(request.telemetry) ?? []).length > 0,
    extensions: (request.extensions ?? []).length > 0,
  };
  const fields = Object.entries(asked).flatMap(([field, isAsked]) => (isAsked ? [field] : []));
  if (fields.length > 0) throw unsupportedFields(fields, `they work only with chromium, not with ${engine}`);
}

/** Throws `not_implemented` if a request has fields that the service doesn't support. */
export function refuseUnsupported(request: Unsupported): void {
  const asked = {
    gpu: request.gpu === true,
    chrome_policy: Object.keys(request.chrome_policy ?? {}).length > 0,
  };
  const fields = Object.entries(asked).flatMap(([field, isAsked]) => (isAsked ? [field] : []));
  if (fields.length > 0) throw unsupportedFields(fields, 'send the request without these fields');
}

/**
 * Returns the profile of a request. Throws `bad_request` unless the selector has either an id or a name and the profile
 * exists.
 */
export function requestedProfile(selector: ProfileSelector, resolveProfile: ResolveProfile): Profile {
  if (!selector.id === !selector.name)
    throw invalidField('profile', `must have an id or a name${selector.id ? ', not both' : ''}`);
  return found('profile', () => resolveProfile(selector));
}

/** Returns the proxy with this id; `undefined` without one. Throws `bad_request` if it doesn't exist. */
export function requestedProxy(
  id: string | null | undefined,
  resolveProxy: Surroundings['resolveProxy'],
): ProxyAccess | undefined {
  return id ? found('proxy_id', () => resolveProxy(id)) : undefined;
}

/**
 * Returns the extensions of a request, each once. Throws `bad_request` unless each selector has either an id or a name,
 * and the extension exists.
 */
export function requestedExtensions(
  selectors: readonly ExtensionSelector[],
  resolveExtension: Surroundings['resolveExtension'],
): StoredExtension[] {
  const extensions = selectors.map((selector) => {
    if (!selector.id === !selector.name)
      throw invalidField('extensions', `each must have an id or a name${selector.id ? ', not both' : ''}`);
    const { id, name } = found('extensions', () => resolveExtension(selector));
    return { id, name };
  });
  return [...new Map(extensions.map((extension) => [extension.id, extension])).values()];
}

const defaultViewport = { width: 1920, height: 1080, refresh_rate: 25 };

/** Adds a missing refresh rate. */
export function withRefreshRate({
  width,
  height,
  refresh_rate,
}: SessionSettings['viewport']): SessionSettings['viewport'] {
  return { width, height, refresh_rate: refresh_rate ?? refreshRate({ width, height }) };
}

/** The refresh rate of a viewport, in Hz: lower for bigger ones. */
function refreshRate({ width, height }: { width: number; height: number }): number {
  const pixels = width * height;
  if (pixels > 1920 * 1200) return 10;
  return pixels > 1280 * 800 ? 25 : 60;
}

/** Telemetry is on if it is enabled, or if it isn't mentioned and a category is enabled. */
export function asksForTelemetry(telemetry: BrowserCreate['telemetry']): boolean {
  if (telemetry?.enabled !== undefined) return telemetry.enabled;
  return Object.values(telemetry?.browser ?? {}).some((category) => category?.enabled !== false);
}

/** Returns the resource that a field names. Throws `bad_request` if it doesn't exist. */
function found<T>(field: string, find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not_found') throw invalidField(field, error.message);
    throw error;
  }
}
