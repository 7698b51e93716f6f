import { LoginPage } from '../../../src/service/logins/robot/login-page.ts';
import type { LoginForm, LoginPageOptions, LoginState } from '../../../src/service/logins/reading/login-form.ts';
import { test as base } from '../service/browser-sessions.ts';
import { startSignedInSite, type SignedInSite } from './signed-in-site.ts';

export const test = base.extend<{
  signedIn: SignedInSite;
  open: (options: Partial<LoginPageOptions> & { domain: string }) => Promise<LoginPage>;
}>({
  signedIn: async ({}, use) => {
    await using site = await startSignedInSite();
    await use(site);
  },
  open: async ({ session }, use) => {
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
