/** The pattern for a service on another machine, unless the user names one. */
const everywhere = '<loopback>';

/** The hosts of this machine that pages of a service's browsers reach. By default none if the service is on this machine. */
export function exposedPattern(asked: string | undefined, baseURL: string): string {
  return asked ?? (isOnThisMachine(baseURL) ? '' : everywhere);
}

function isOnThisMachine(baseURL: string): boolean {
  const { hostname } = new URL(baseURL);
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.|^\[::1\]$/.test(hostname);
}
