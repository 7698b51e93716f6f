import { isWithin } from './allowed-domains.ts';
import type { Discovery } from '../reading/discovery.ts';
import { LoginError, type LoginState } from '../reading/login-form.ts';
import type { ObservedFrame } from '../reading/observation.ts';
import type { SiteCookies } from './site-cookies.ts';

/** How long a page must be unchanged before it is read, in ms. */
export const stableMs = 300;
/** How long a page must be quiet and without a login form before this counts as its answer, in ms. */
export const emptyMs = 1500;

/** The facts about a login that its page doesn't show. */
export type LoginCourse = {
  domain: string;
  /** All domains that the login may visit, including `domain`. */
  domains: readonly string[];
  /** Empty while it is unknown. */
  loginUrl: string;
  postLoginUrl: string | undefined;
  hasSubmitted: boolean;
  /** The HTTP status of the page. */
  status: number;
  cookies: SiteCookies;
  redacted: (text: string) => string;
};

/** The state of a page that hasn't changed for `steadyMs`; `undefined` while it may still change. */
export async function stateOf(
  found: Discovery,
  frame: ObservedFrame,
  steadyMs: number,
  course: LoginCourse,
): Promise<LoginState | undefined> {
  const { form } = found;
  if (form.fields.length > 0) return { kind: 'asks', form };
  if (form.external_action_message !== undefined)
    return steadyMs > stableMs * 2 ? { kind: 'external_action', form } : undefined;
  const isSso = form.choices.some(({ type }) => type !== 'other' && type !== 'account');
  const isIn = await isLoggedIn(found, frame, steadyMs, course);
  if (form.choices.length > 0 && (isSso || !found.canLogOut))
    return steadyMs > stableMs * 3 ? { kind: 'asks', form } : undefined;
  return isIn ? { kind: 'logged_in', url: form.url } : undefined;
}

/** The state of a page that won't change any more. Throws `LoginError` if it isn't a login. */
export async function lateStateOf(found: Discovery, frame: ObservedFrame, course: LoginCourse): Promise<LoginState> {
  const { form } = found;
  const { status, hasSubmitted, domains, cookies } = course;
  if (form.fields.length > 0 || form.choices.length > 0) return { kind: 'asks', form };
  const host = URL.canParse(form.url) ? new URL(form.url).host : 'the site';
  if (found.hasCaptcha)
    throw new LoginError('captcha_blocked', `${host} shows a captcha; log in through the live view`);
  if (status >= 500) throw new LoginError('network_error', `${host} answered with status ${status}; is the site up?`);
  if (form.website_error !== undefined)
    throw new LoginError(
      'website_error',
      `${host} shows an error and no login form: ${course.redacted(form.website_error)}`,
    );
  if (status >= 400)
    throw new LoginError(
      hasSubmitted ? 'website_error' : 'login_form_not_found',
      `${host} answered with status ${status}`,
    );
  const isAtHome = domains.some((domain) => isWithin(frame.url, domain));
  if (hasSubmitted && isAtHome && (!found.leadsToLogin || (await cookies.areNew())))
    return { kind: 'logged_in', url: form.url };
  const missing = form.not_found.length > 0 ? ` (but ${form.not_found.join(', ')})` : '';
  throw new LoginError(
    'login_form_not_found',
    `no login form was found on ${host}${missing}; set login_url to the page that asks for the password`,
  );
}

async function isLoggedIn(
  found: Discovery,
  { url, ready }: ObservedFrame,
  steadyMs: number,
  course: LoginCourse,
): Promise<boolean> {
  const { domain, domains, loginUrl, postLoginUrl, hasSubmitted, status, cookies } = course;
  if (ready !== 'complete' || status >= 500 || !domains.some((one) => isWithin(url, one))) return false;
  if (found.canLogOut) return true;
  if (postLoginUrl !== undefined && isSamePage(url, postLoginUrl) && !found.leadsToLogin && status < 400) return true;
  if (steadyMs < stableMs * 2) return false;
  const hasNewCookie = await cookies.areNew();
  if (hasSubmitted && hasNewCookie && !found.leadsToLogin) return true;
  if (status >= 400 || found.leadsToLogin || steadyMs < emptyMs) return false;
  if (hasSubmitted) return isWithin(url, domain) || hasNewCookie;
  // The login page redirected elsewhere, so the profile is logged in.
  return loginUrl !== '' && !isSamePage(url, loginUrl) && (await cookies.areThere());
}

function isSamePage(a: string, b: string): boolean {
  if (!URL.canParse(a) || !URL.canParse(b)) return false;
  const [one, other] = [new URL(a), new URL(b)];
  return one.host === other.host && one.pathname.replace(/\/$/, '') === other.pathname.replace(/\/$/, '');
}
