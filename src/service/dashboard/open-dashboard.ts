import type { IncomingMessage } from 'node:http';
import type { Pages } from '../http/document.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import { Dashboard, type DashboardOptions } from './dashboard.ts';
import { dashboardRoutes, type DashboardRoutesOptions } from './dashboard-routes.ts';
import { SignIns, type SignInsOptions } from './sign-ins.ts';
import { Thumbnails } from './thumbnails.ts';

export type OpenOptions = DashboardOptions & SignInsOptions & Pick<DashboardRoutesOptions, 'pass' | 'callers'>;

/**
 * Creates the dashboard: its routes, and a function that finds the API key of a request with the dashboard's cookie.
 */
export function openDashboard(options: OpenOptions): {
  pages: Pages;
  signedIn: (incoming: IncomingMessage) => ApiKeyIdentity | undefined;
} {
  const signIns = new SignIns(options);
  const thumbnails = new Thumbnails(options.clock);
  const pages = dashboardRoutes({ ...options, dashboard: new Dashboard(options), signIns, thumbnails });
  return { pages, signedIn: (incoming) => signIns.keyOf(incoming) };
}
