import { isWithin } from './allowed-domains.ts';
import type { Discovery } from './discovery.ts';
import { LoginError, type LoginState } from './login-form.ts';
import type { ObservedFrame } from './observation.ts';
import type { SiteCookies } from './site-cookies.ts';

/** How long a page must have stayed as it is. */
export const stableMs = 300;
/** How long one must have shown nothing to log in with, and been quiet, until that is taken for its answer. */
export const emptyMs = 1500;

/** What is known of a login besides what its page shows. */
export type LoginCourse = {
  domain: string;
  /** All that belong to the login, `domain` among them. */
  domains: readonly string[];
  /** Empty as long as it is not known. */
  loginUrl: string;
  /** Where a former login landed. */
  postLoginUrl: string | undefined;
  hasSubmitted: boolean;
  /** The HTTP status with which the page came. */
  status: number;
  cookies: SiteCookies;
  /** Cuts out of a text what was filled in. */
  redacted: (text: string) => string;
};

/** What a page means that has stayed as it is for `steadyMs`; `undefined` while it may say more. */
export async function stateOf(
  found: Discovery,
  frame: ObservedFrame,
  steadyMs: number,
  course: LoginCourse,
): Promise<LoginState | undefined> {
  const { form } = found;
  if (form.fields.length > 0) return { kind: 'asks', form };
  if (form.external_action_message !== undefined) return steadyMs > stableMs * 2 ? { kind: 'external_action', form } : undefined;
  const isSso = form.choices.some(({ type }) => type !== 'other' && type !== 'account');
  const isIn = await isLoggedIn(found, frame, steadyMs, course);
  if (form.choices.length > 0 && (isSso || !found.canLogOut)) return steadyMs > stableMs * 3 ? { kind: 'asks', form } : undefined;
  return isIn ? { kind: 'logged_in', url: form.url } : undefined;
}

/** What a page means of which nothing more is expected. Throws `LoginError` where that is no login. */
export async function lateStateOf(found: Discovery, frame: ObservedFrame, course: LoginCourse): Promise<LoginState> {
  const { form } = found;
  const { status, hasSubmitted, domains, cookies } = course;
  if (form.fields.length > 0 || form.choices.length > 0) return { kind: 'asks', form };
  const host = URL.canParse(form.url) ? new URL(form.url).host : 'the site';
  if (found.hasCaptcha) throw new LoginError('captcha_blocked', `${host} shows a captcha; log in through the live view`);
  if (status >= 500) throw new LoginError('network_error', `${host} answered with status ${status}; is the site up?`);
  if (form.website_error !== undefined)
    throw new LoginError('website_error', `${host} shows an error and nothing to log in with: ${course.redacted(form.website_error)}`);
  if (status >= 400)
    throw new LoginError(hasSubmitted ? 'website_error' : 'login_form_not_found', `${host} answered with status ${status}`);
  const isAtHome = domains.some((domain) => isWithin(frame.url, domain));
  if (hasSubmitted && isAtHome && (!found.leadsToLogin || (await cookies.areNew()))) return { kind: 'logged_in', url: form.url };
  const missing = form.not_found.length > 0 ? ` (but ${form.not_found.join(', ')})` : '';
  throw new LoginError(
    'login_form_not_found',
    `nothing to log in with was found on ${host}${missing}; set login_url to the page that asks for the password`,
  );
}

async function isLoggedIn(found: Discovery, { url, ready }: ObservedFrame, steadyMs: number, course: LoginCourse): Promise<boolean> {
  const { domain, domains, loginUrl, postLoginUrl, hasSubmitted, status, cookies } = course;
  if (ready !== 'complete' || status >= 500 || !domains.some((one) => isWithin(url, one))) return false;
  if (found.canLogOut) return true;
  if (postLoginUrl !== undefined && isSamePage(url, postLoginUrl) && !found.leadsToLogin && status < 400) return true;
  if (steadyMs < stableMs * 2) return false;
  const hasNewCookie = await cookies.areNew();
  if (hasSubmitted && hasNewCookie && !found.leadsToLogin) return true;
  if (status >= 400 || found.leadsToLogin || steadyMs < emptyMs) return false;
  if (hasSubmitted) return isWithin(url, domain) || hasNewCookie;
  // A login page that sends elsewhere who comes to it has nothing to ask.
  return loginUrl !== '' && !isSamePage(url, loginUrl) && (await cookies.areThere());
}

function isSamePage(a: string, b: string): boolean {
  if (!URL.canParse(a) || !URL.canParse(b)) return false;
  const [one, other] = [new URL(a), new URL(b)];
  return one.host === other.host && one.pathname.replace(/\/$/, '') === other.pathname.replace(/\/$/, '');
}
