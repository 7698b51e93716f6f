import { invalidField } from '../../contract/errors.ts';

/**
 * Returns the switches with which Playwright 1.65 starts Chromium, so that tests behave as in a browser that Playwright
 * started itself. test/service/chromium/chromium.spec.ts compares them with those of the installed Playwright.
 */
export function chromiumSwitches(options: {
  headless: boolean;
  sandbox: boolean;
  /** Whether the service may load extensions. */
  extensions?: boolean | undefined;
  /**
   * Switches from the caller. The service merges their `--enable-features`, `--disable-features` and
   * `--host-resolver-rules` with its own, because Chromium reads only the last switch of each name.
   */
  extra?: readonly string[] | undefined;
}): string[] {
  const { extra = [] } = options;
  const ofExtra = (name: string) => extra.flatMap((text) => (text.startsWith(name) ? [text.slice(name.length)] : []));
  const withFeatures = (name: string, own: string[]) => name + [...own, ...ofExtra(name)].join(',');
  const rules = ofExtra(hostRules);
  return [
    '--disable-field-trial-config',
    '--disable-background-networking',
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-back-forward-cache',
    '--disable-breakpad',
    '--disable-component-extensions-with-background-pages',
    '--disable-component-update',
    '--no-default-browser-check',
    '--disable-default-apps',
    '--disable-dev-shm-usage',
    '--disable-edgeupdater',
    // Clients can't send the commands that this allows; see `CdpInspection`.
    options.extensions ? '--enable-unsafe-extension-debugging' : '--disable-extensions',
    withFeatures(disableFeatures, disabledFeatures),
    withFeatures(enableFeatures, enabledFeatures),
    '--allow-pre-commit-input',
    '--disable-hang-monitor',
    '--disable-ipc-flooding-protection',
    '--disable-popup-blocking',
    '--disable-prompt-on-repost',
    '--disable-renderer-backgrounding',
    '--disable-updater-scheduler',
    '--force-color-profile=srgb',
    '--metrics-recording-only',
    '--no-first-run',
    '--password-store=basic',
    '--use-mock-keychain',
    '--no-service-autorun',
    '--disable-search-engine-choice-screen',
    '--unsafely-disable-devtools-self-xss-warnings',
    '--enable-unsafe-swiftshader',
    '--edge-skip-compat-layer-relaunch',
    '--disable-stack-profiler',
    '--disable-infobars',
    '--disable-sync',
    '--do-not-de-elevate',
    ...(options.headless ? headlessSwitches : []),
    ...(options.sandbox ? [] : ['--no-sandbox']),
    // Chromium's first window has a blank page, which would appear in screenshots and traces and slow down clients that
    // attach.
    '--no-startup-window',
    ...extra.filter((text) => !merged.some((name) => text.startsWith(name))),
    // Rules hold for the address of a proxy, too: another program on the service's machine would get its requests.
    ...(rules.length > 0 ? [hostRules + [...rules, 'EXCLUDE 127.0.0.1'].join(',')] : []),
  ];
}

export const disableFeatures = '--disable-features=';
export const enableFeatures = '--enable-features=';
export const hostRules = '--host-resolver-rules=';
const merged = [disableFeatures, enableFeatures, hostRules];

const headlessSwitches = [
  '--headless',
  '--hide-scrollbars',
  '--mute-audio',
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
];

const disabledFeatures = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion',
];

const enabledFeatures = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

/** The switches that callers may not set: patterns for their names in lower case, each with the reason. */
const refused: [RegExp, string][] = [
  [/^remote-|debug|-startup-dialog$/, 'the service itself connects to Chromium'],
  [/-dir$|^(data-path|profile-.*|temp-profile)$/, 'each session has a user-data directory of its own'],
  [/sandbox|zygote|^single-process$|^in-process-/, "the service's own options decide about the sandbox"],
  [/proxy|^host-rules$/, 'proxies are named by proxy_id'],
  [/(^|-)extension(?!s$)|extensions-|^load-|^app(-id)?$/, 'extensions are set in the field extensions'],
  [/^(headless|window-size)$/, 'headless and viewport are settings of their own'],
  [/-cmd-prefix$|launcher|subprocess-path|library|plugin|^type$/, 'Chromium must not start other programs'],
  [/^auto-select-(desktop|screen|window)-/, 'it shows other sessions, and --use-fake-device-for-media-stream does not'],
  [/-file$|-output-path$|^(log-net-log|webrtc-event-logging)$/, 'Chromium must not write files of your choice'],
];

/**
 * Checks the Chromium switches that a caller adds (`chromium_args`). Throws `bad_request` for a switch by which a
 * session could get around the service's rules. On some systems Chromium ignores the case of names.
 */
export function checkExtraSwitches(switches: readonly string[]): void {
  for (const text of switches) {
    const [name = ''] = text.slice(2).split('=', 1);
    const reason = reasonToRefuse(name);
    if (reason) throw invalidField('chromium_args', `--${name} is not allowed, because ${reason}`);
  }
}

/** Why callers may not set the switch of this name. `undefined` if they may. */
export function reasonToRefuse(name: string): string | undefined {
  const plain = name.toLowerCase().replaceAll('_', '-');
  return refused.find(([pattern]) => pattern.test(plain))?.[1];
}
