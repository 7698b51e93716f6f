import type { Links } from '../sessions/session.ts';

/** Returns the URLs of a session from a machine's answer, without the other fields. */
export function linksOf({
  cdp_ws_url,
  playwright_ws_url,
  base_url,
  tunnel_ws_url,
  browser_live_view_url,
  read_only_live_view_url,
}: Links): Links {
  return {
    cdp_ws_url,
    ...(playwright_ws_url !== undefined && { playwright_ws_url }),
    ...(base_url !== undefined && { base_url }),
    ...(tunnel_ws_url !== undefined && { tunnel_ws_url }),
    ...(browser_live_view_url !== undefined && { browser_live_view_url }),
    ...(read_only_live_view_url !== undefined && { read_only_live_view_url }),
  };
}
