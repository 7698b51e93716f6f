import { totpCode } from '../../../src/service/credentials/totp.ts';
import { test as base } from './logins.ts';
import { startSignedInSite, type SignedInSite } from './signed-in-site.ts';

export const test = base.extend<{ signedIn: SignedInSite }>({
  signedIn: async ({}, use) => {
    await using site = await startSignedInSite();
    await use(site);
  },
});

/** A way to log in to the site of examples/signed-in. */
export type SignInWay = {
  profile: string;
  path: string;
  password: string;
  /** The identity provider whose button to press. */
  sso?: string;
  /** The way to send the code. */
  choice?: 'sms';
  totpSecret?: string;
};

export const signInWays: { [name: string]: SignInWay } = {
  password: { profile: 'alice', path: '/login', password: 'wonderland' },
  'two steps': { profile: 'alice', path: '/two-step', password: 'wonderland' },
  'an authenticator app': {
    profile: 'carol',
    path: '/login',
    password: 'looking glass',
    totpSecret: 'JBSWY3DPEHPK3PXP',
  },
  'a text message': { profile: 'bob', path: '/login', password: 'builder', choice: 'sms' },
  'single sign-on': { profile: 'dave', path: '/login', password: 'griffin', sso: 'keyring' },
};

/** The auth connection that logs in this way. */
export function connectionOf({ profile, path }: SignInWay, { url, providerUrl }: SignedInSite) {
  const { host } = new URL(url);
  return {
    profile_name: profile,
    domain: host,
    login_url: `${url}${path}`,
    allowed_domains: [new URL(providerUrl).host],
  };
}

/** The code that the site expects now. */
export async function codeOf({ totpSecret }: SignInWay, site: SignedInSite): Promise<string> {
  if (totpSecret !== undefined) return totpCode(totpSecret, Date.now()).code;
  const [message = ''] = await site.inbox();
  return /\d{6}/.exec(message)![0];
}
