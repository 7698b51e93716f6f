import { mayVisit } from './allowed-domains.ts';
import { asksToLogIn, discover, loginLinks, type Target } from '../reading/discovery.ts';
import { LoginError } from '../reading/login-form.ts';
import type { ObservedFrame } from '../reading/observation.ts';

/** The browser page in which the login is searched for. */
export type Visitor = {
  /** Throws `LoginError`. */
  navigate(url: string): Promise<void>;
  click(target: Target): Promise<unknown>;
  /** Waits until the page has been quiet for a while; returns its frames and its HTTP status. */
  look(): Promise<{ frames: ObservedFrame[]; status: number }>;
};

/**
 * Goes from the front page of a domain to its login. Stays if the profile is logged in already. `domains` are the
 * allowed ones. Throws `login_form_not_found`, and the visitor's errors.
 */
export async function findLogin(visitor: Visitor, domain: string, domains: readonly string[]): Promise<void> {
  await openFrontPage(visitor, domain);
  const { frames: front } = await visitor.look();
  const main = front[0]!;
  if (asksToLogIn(front) || discover(front).canLogOut) return;
  const links = loginLinks(main);
  const allowed = links.filter(({ href }) => href === '' || mayVisit(href, domains));
  // If all logins are on foreign domains, opening one throws the error that names its domain.
  for (const { href, element } of allowed.length > 0 ? allowed.slice(0, 3) : links.slice(0, 1)) {
    if (href === '') await visitor.click({ ...main, element });
    else await visitor.navigate(href);
    if (asksToLogIn((await visitor.look()).frames)) return;
    // The links were found on the front page, which is not open any more.
    if (href === '') break;
  }
  for (const path of usualPaths) {
    await visitor.navigate(new URL(path, main.url).href);
    const { frames, status } = await visitor.look();
    if (status < 400 && asksToLogIn(frames)) return;
  }
  throw new LoginError(
    'login_form_not_found',
    `the front page of ${domain} leads to no login form; set login_url to the page that has it`,
  );
}

/** Sites under test are often served without TLS. */
async function openFrontPage(visitor: Visitor, domain: string): Promise<void> {
  const isLocal = /^(localhost|[\w.-]+\.localhost|[\d.]+|\[[\da-f:]+\])$/i.test(domain) || /:\d+$/.test(domain);
  const [first, second] = isLocal ? ['http', 'https'] : ['https', 'http'];
  try {
    await visitor.navigate(`${first}://${domain}/`);
  } catch (error) {
    if (!(error instanceof LoginError) || error.code !== 'network_error') throw error;
    await visitor.navigate(`${second}://${domain}/`).catch(() => Promise.reject(error));
  }
}

/** The usual paths of logins, for sites without a link to their login. */
const usualPaths = ['/login', '/signin', '/sign-in', '/auth/login', '/account/login', '/users/sign_in'];
