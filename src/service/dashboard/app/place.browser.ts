import { useEffect, useState } from 'preact/hooks';
import type { ComponentType } from 'preact';
import type { DashboardState, HistorySample } from '../../../contract/dashboard-events.ts';

/** The view and its parameters, such as a filter. The URL's hash has them: `#leases?q=login`. */
export type Place = { view: string; params: Readonly<Record<string, string>> };

const changed = 'placechange';

/** The place in the URL. The component renders again when it changes. */
export function usePlace(): Place {
  const [place, set] = useState(read);
  useEffect(() => {
    const listener = () => set(read());
    for (const type of ['hashchange', changed]) addEventListener(type, listener);
    return () => {
      for (const type of ['hashchange', changed]) removeEventListener(type, listener);
    };
  }, []);
  return place;
}

/** The URL of a place. Leaves out empty parameters. */
export function hrefOf(view: string, params: Record<string, string | undefined> = {}): string {
  const entries = Object.entries(params).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return entries.length === 0 ? `#${view}` : `#${view}?${new URLSearchParams(entries).toString()}`;
}

export function go(view: string, params: Record<string, string | undefined> = {}): void {
  location.hash = hrefOf(view, params);
}

/** Changes parameters of the current view, without a new entry in the browser's history. */
export function setParams(params: Record<string, string | undefined>): void {
  const place = read();
  history.replaceState(null, '', hrefOf(place.view, { ...place.params, ...params }));
  dispatchEvent(new Event(changed));
}

function read(): Place {
  const [view = '', query = ''] = location.hash.slice(1).split('?', 2);
  return { view, params: Object.fromEntries(new URLSearchParams(query)) };
}

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
