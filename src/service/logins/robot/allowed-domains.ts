/** The domains of the usual SSO providers. */
const providers = [
  'accounts.google.com',
  'login.microsoftonline.com',
  'login.live.com',
  'okta.com',
  'oktapreview.com',
  'auth0.com',
  'appleid.apple.com',
  'github.com',
  'www.facebook.com',
  'www.linkedin.com',
  'amazoncognito.com',
  'onelogin.com',
  'pingone.com',
  'pingidentity.com',
];

/**
 * Whether a login may visit a URL: it is on one of the domains or the domains of the usual SSO providers, or on a
 * subdomain of those. A domain with a port allows that port only. `about:`, `blob:` and `data:` URLs and Chromium's error
 * pages are allowed.
 */
export function mayVisit(url: string, domains: readonly string[]): boolean {
  if (!/^https?:/i.test(url)) return /^(about|chrome-error|blob|data):/i.test(url);
  return domains.some((domain) => isWithin(url, domain)) || providers.some((domain) => isWithin(url, domain));
}

/** Whether a URL is on a domain or one of its subdomains. Ignores `www.` at the beginning of the domain. */
export function isWithin(url: string, domain: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname, host, protocol } = new URL(url);
  const wanted = URL.canParse(`${protocol}//${domain}`) ? new URL(`${protocol}//${domain}`) : undefined;
  if (wanted === undefined || wanted.hostname === '') return false;
  // `URL` drops a given port if it is the default of the protocol.
  const hasPort = /:\d+$/.test(domain);
  if (hasPort && host.slice(hostname.length) !== wanted.host.slice(wanted.hostname.length)) return false;
  const base = wanted.hostname.replace(/^www\./, '');
  return hostname === base || hostname.endsWith(`.${base}`);
}
