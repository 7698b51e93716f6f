import { defineConfig, type LoginUse } from 'playwright-pool';

// Set by the web server, which starts before the workers read this file.
const site = process.env['SITE_URL'] ?? 'http://127.0.0.1';

/** The profile of a user of the site. */
function login(name: string, path: string, others: Partial<LoginUse> = {}) {
  const login: LoginUse = {
    domain: new URL(site).host,
    loginUrl: `${site}${path}`,
    ...others,
  };
  return { poolProfile: { name, login } };
}

// In your suite, take them from the environment.
const alice = { name: 'alice', values: { username: 'alice', password: 'wonderland' } };
const carol = {
  name: 'carol',
  values: { username: 'carol', password: 'looking glass' },
  totpSecret: 'JBSWY3DPEHPK3PXP',
};
// His password belongs to the identity provider, not to the site.
const dave = {
  name: 'dave',
  domain: 'localhost',
  values: { username: 'dave', password: 'griffin' },
  ssoProvider: 'keyring',
};
const bob = login('bob', '/login');

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 2,
  retries: 0,
  forbidOnly: !!process.env['CI'],
  reporter: [['list'], ['playwright-pool/reporter']],
  webServer: {
    command: 'node server.mjs',
    wait: { stdout: /site on (?<site_url>[^,\s]+)/ },
  },
  use: {
    baseURL: site,
    pool: { name: 'signed-in', size: 2 },
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'password', use: login('alice', '/login', { credential: alice }) },
    { name: 'two steps', use: login('alice-in-steps', '/two-step', { credential: alice }) },
    { name: 'authenticator app', use: login('carol', '/login', { credential: carol }) },
    { name: 'single sign-on', use: login('dave', '/login', { credential: dave, allowedDomains: ['localhost'] }) },
    // The code comes by text message. The setup test reads and enters it.
    { name: 'log in with a text message', testMatch: 'text-message.setup.ts', use: bob },
    { name: 'text message', dependencies: ['log in with a text message'], use: bob },
  ],
});
