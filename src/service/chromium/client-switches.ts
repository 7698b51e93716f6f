import { invalidField } from '../../contract/errors.ts';
import { chromiumSwitches, disableFeatures, enableFeatures, hostRules, reasonToRefuse } from './switches.ts';

/**
 * Returns the switches of a client's `launchOptions.args` that have an effect. The list names those that change pages
 * only: a client's config must not open a port, read or write files of the browser's machine, start programs, or go
 * around the sandbox and the proxies of the service. Throws `bad_request` for all others.
 */
export function clientSwitches(args: readonly string[]): string[] {
  return args.filter((text) => {
    const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    if (ineffective.has(name) || own.has(text)) return false;
    const pattern = Object.hasOwn(allowedValues, name) ? allowedValues[name] : undefined;
    if (allowed.has(name) || pattern?.test(value ?? '')) return true;
    const shown = JSON.stringify(text.slice(0, 80));
    const reason = pattern ? 'this value is not allowed' : (reasonToRefuse(name) ?? 'the service does not know it');
    throw invalidField('launchOptions.args', `${shown} is not allowed, because ${reason}: remove it`);
  });
}

const windowSize = /^([1-9]\d{0,3})[,x]([1-9]\d{0,3})$/;

/** The size in the last `--window-size` of some switches. */
export function windowSizeIn(switches: readonly string[]): { width: number; height: number } | undefined {
  const name = '--window-size=';
  const text = switches.findLast((one) => one.startsWith(name))?.slice(name.length);
  const [, width, height] = windowSize.exec(text ?? '') ?? [];
  return width === undefined ? undefined : { width: Number(width), height: Number(height) };
}

/** The service decides about these itself, and many configs have them. */
const ineffective = namesIn('no-sandbox disable-setuid-sandbox disable-gpu-sandbox no-zygote single-process');
const own: ReadonlySet<string> = new Set(chromiumSwitches({ headless: false, sandbox: true }));

/** Any value of these is safe. */
const allowed = namesIn(`
  accept-lang allow-insecure-localhost allow-running-insecure-content autoplay-policy
  blink-settings disable-3d-apis disable-accelerated-2d-canvas disable-blink-features disable-font-subpixel-positioning
  disable-gpu disable-lcd-text disable-notifications disable-site-isolation-trials disable-smooth-scrolling
  disable-software-rasterizer disable-web-security disable-webgl enable-automation enable-blink-features
  enable-experimental-web-platform-features enable-precise-memory-info enable-unsafe-webgpu enable-webgl
  font-render-hinting force-color-profile force-dark-mode force-device-scale-factor force-prefers-reduced-motion
  hide-scrollbars ignore-certificate-errors ignore-certificate-errors-spki-list ignore-gpu-blocklist isolate-origins
  lang mute-audio site-per-process start-fullscreen start-maximized test-type time-zone-for-testing
  unsafely-treat-insecure-origin-as-secure use-angle use-fake-device-for-media-stream use-fake-ui-for-media-stream
  use-gl user-agent window-position`);

/** A flag of V8 that changes its memory, its limits or the language. */
const jsFlag =
  '--(no-)?(expose[-_]gc|(max|min|initial)[-_][a-z_-]+[-_]size=\\d+|stack[-_](size|trace[-_]limit)=\\d+|random[-_]seed=\\d+|' +
  'harmony[\\w-]*|js[-_][\\w-]+|experimental[-_]wasm[\\w-]*|jitless)';

/** These are safe with values that fit. */
const allowedValues: { readonly [name: string]: RegExp } = {
  // Some features are parts of the sandbox.
  [nameOf(enableFeatures)]: /^(?!.*sandbox)/is,
  [nameOf(disableFeatures)]: /^(?!.*sandbox)/is,
  [nameOf(hostRules)]: /^/,
  'window-size': windowSize,
  // V8 has flags that write files.
  'js-flags': new RegExp(`^\\s*${jsFlag}(\\s+${jsFlag})*\\s*$`),
};

function namesIn(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

function nameOf(prefix: string): string {
  return prefix.slice(2, -1);
}
