import type { ComponentType } from 'preact';
import type { DashboardState, HistorySample } from '../../../contract/dashboard-events.ts';
import type { Place } from './place.browser.ts';

export type ViewProps = { state: DashboardState; history: HistorySample[]; params: Place['params'] };

/** A view of the dashboard. */
export type View = {
  /** The name in the URL. */
  id: string;
  title: string;
  /** Whether the parameter `q` filters the view. The search palette offers such views. */
  isSearchable?: boolean;
  /** Whether only an organization key may open it. */
  isForOrganization?: boolean;
  component: ComponentType<ViewProps>;
};
