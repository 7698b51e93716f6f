import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';
import { freePort } from '../support/http/serve.ts';
import { run, test } from '../support/runs/packed-package.ts';

/** The last version of Playwright with packages for component tests. */
const version = '1.62.1';

test("component tests of Playwright's own package lease a browser over both protocols @long", async ({
  tarball,
  directory: cwd,
}) => {
  test.setTimeout(600_000);
  await cp(fileURLToPath(new URL('suites/components', import.meta.url)), cwd, { recursive: true });
  const packages = ['test', 'experimental-ct-react'].map((name) => `@playwright/${name}@${version}`);
  const install = ['install', '--ignore-scripts', '--no-audit', tarball, ...packages, 'react@18', 'react-dom@18'];
  await run('npm', install, { cwd, minutes: 5 });
  for (const PLAYWRIGHT_POOL_TRANSPORT of ['cdp', 'playwright']) {
    const env = { PLAYWRIGHT_POOL_TRANSPORT, TEST_PORT: String(await freePort()) };
    const output = await run('npx', ['playwright', 'test'], { cwd, env });
    expect(output).toContain('2 passed');
    expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
  }
});
