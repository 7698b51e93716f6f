import { createHmac } from 'node:crypto';
import { LoginPage } from '../../../src/service/logins/robot/login-page.ts';
import type { LoginForm, LoginPageOptions, LoginState } from '../../../src/service/logins/reading/login-form.ts';
import { settings, test as base } from '../service/browser-sessions.ts';
import { startSignedInSite, type SignedInSite } from './signed-in-site.ts';

export const test = base.extend<{
  signedIn: SignedInSite;
  open: (options: Partial<LoginPageOptions> & { domain: string }) => Promise<LoginPage>;
}>({
  signedIn: async ({}, use) => {
    await using site = await startSignedInSite();
    await use(site);
  },
  open: async ({ sessions }, use) => {
    const session = await sessions.create(settings);
    const pages: LoginPage[] = [];
    await use(async (options) => {
      const page = await LoginPage.open(session, { signal: AbortSignal.timeout(50_000), ...options });
      pages.push(page);
      return page;
    });
    for (const page of pages) await page[Symbol.asyncDispose]();
  },
});

export function asked(state: LoginState): LoginForm {
  if (state.kind !== 'asks') throw new Error(`the login is ${JSON.stringify(state)}`);
  return state.form;
}

export function totp(secret: string): string {
  const bits = Array.from(secret, (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  return String((digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fffffff) % 1e6).padStart(6, '0');
}
