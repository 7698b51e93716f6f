import { mayVisit } from './allowed-domains.ts';
import { discover, isLogOut, type Target } from '../reading/discovery.ts';
import { LoginError } from '../reading/login-form.ts';
import type { Clickable, ObservedFrame } from '../reading/observation.ts';
import { isAbout } from '../reading/words.ts';

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

export function asksToLogIn(frames: ObservedFrame[]): boolean {
  const { form } = discover(frames);
  return form.fields.length > 0 || form.choices.some(({ type }) => type === 'sso_provider');
}

/** The usual paths of logins, for sites without a link to their login. */
const usualPaths = ['/login', '/signin', '/sign-in', '/auth/login', '/account/login', '/users/sign_in'];

/**
 * The links of a page to its login, the likeliest first. They include links in closed menus, because their addresses
 * can be opened.
 */
function loginLinks(frame: ObservedFrame): Clickable[] {
  return frame.clickables
    .filter((clickable) => (clickable.visible || clickable.href !== '') && !isLogOut(clickable))
    .map((clickable) => ({ clickable, score: scoreOf(clickable) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ clickable }) => clickable);
}

function scoreOf({ text, accessibleName, href, visible, inHeader, inFooter }: Clickable): number {
  if (text.length > 60 || (href !== '' && !/^https?:/i.test(href))) return 0;
  const says = isAbout('logIn', text, accessibleName);
  const path = URL.canParse(href) ? new URL(href).pathname + new URL(href).search + new URL(href).hash : '';
  const leads =
    /(^|[/?#=_.-])(log[-_]?[io]n|sign[-_]?in|anmelden|einloggen|connexion|acceso|entrar|accedi|auth|sso|session\/new|sessions\/new)([/?#=_.-]|$)/i.test(
      path,
    );
  if (!says && !leads) return 0;
  let score = (says ? 6 : 0) + (leads ? 4 : 0) + (visible ? 2 : 0) + (inHeader ? 1 : 0) - (inFooter ? 1 : 0);
  if (isAbout('signUp', text) && !says) score -= 8;
  if (isAbout('forgot', text)) score -= 8;
  // "How to log in to …" is an article.
  return score - Math.floor(text.length / 25);
}
