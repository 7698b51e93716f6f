import { fileURLToPath } from 'node:url';

/** Settings of the user's shell that change commands, clients and browsers. Tests that need one set it themselves. */
const foreign =
  /^(CI|NO_COLOR|FORCE_COLOR|COLUMNS|NODE_OPTIONS|DEBUG|GITHUB_\w+|KERNEL_\w+|DISPLAY|WAYLAND_DISPLAY|PLAYWRIGHT_POOL_(?!CHROMIUM$|TEST_)\w+)$/;

const compileCache = fileURLToPath(new URL('compile-cache.cjs', import.meta.url));

/**
 * Removes settings that tests must not depend on from this process's environment. Files of the tests get the usual modes:
 * under a umask of 077, the users of sessions could not enter any directory of a test.
 */
export function ownEnvironment(): void {
  process.umask(0o022);
  for (const name of Object.keys(process.env)) if (foreign.test(name)) delete process.env[name];
  // The workers pass this on to all Node programs that they start, such as runs of Playwright and hosts of sessions.
  process.env['NODE_OPTIONS'] = `--require ${JSON.stringify(compileCache)}`;
  // A proxy stays set, because `npm install` may need it. The services and sites of the tests are on this machine.
  for (const name of ['no_proxy', 'NO_PROXY'])
    process.env[name] = [process.env[name], 'localhost', '127.0.0.1'].filter(Boolean).join(',');
}
