import type { Duplex } from 'node:stream';

/** Opens connections on the machine of a session's client, usually the machine that runs the tests. */
export type Tunnel = {
  /**
   * Begins a connection to a host with its port. Data can be written at once. `opened` rejects with the reason if the
   * host doesn't accept it; the stream is destroyed then.
   */
  open(authority: string): { stream: Duplex; opened: Promise<void> };
};

/** A session's exposed hosts: pages reach them through a tunnel, on the machine of the session's client. */
export type Exposure = {
  matches(hostname: string, port: number): boolean;
  /** `undefined` while the tunnel is broken. */
  readonly tunnel: Tunnel | undefined;
};

/** A page requested an exposed host, and no program answers there, or the tunnel is broken. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

/** Begins a connection to an exposed host. Throws `UnreachableError` while the tunnel is broken. */
export function openExposed(exposure: Exposure, authority: string): { stream: Duplex; opened: Promise<void> } {
  const broken = 'the tunnel to the test machine is not connected at the moment';
  if (!exposure.tunnel) throw new UnreachableError(broken);
  return exposure.tunnel.open(authority);
}

/** The page that a browser shows instead of an exposed one. */
export function unreachablePage(authority: string, problem: string): string {
  const host = escaped(authority);
  return `<!doctype html>
<meta charset="utf-8">
<title>${host} can't be reached</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; margin: 3em auto; max-width: 40em; padding: 0 1em }</style>
<h1>${host} can't be reached</h1>
<p>This address leads to the machine that runs the tests: ${escaped(problem)}.</p>
<p>Check that the app runs there, for example by <code>webServer</code> in the config, and listens on this port.</p>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
