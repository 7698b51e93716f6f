import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { hrefOf, type View } from '../app/place.browser.ts';
import { machineName, matches, search } from './format.browser.ts';
import { leasesOf, namesOf } from './leases.browser.ts';

type Props = { state: DashboardState; views: readonly View[]; onClose: () => void };
type Hit = { id: string; kind: string; text: string; detail: string; href: string };

const mostHits = 12;

/** The search dialog, which Ctrl+K opens. Finds views, tests, sessions, pools and machines. */
export function Palette({ state, views, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState('');
  const [chosen, choose] = useState(0);
  const hits = useMemo(() => hitsOf(query, state, views), [query, state, views]);
  const current = Math.min(chosen, hits.length - 1);
  // A layout effect runs before the next key arrives.
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    location.hash = hit.href;
    onClose();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) choose(Math.max(0, Math.min(hits.length - 1, current + step)));
    else if (event.key === 'Enter') open(hits[current]);
    // By itself, Chromium would only empty the field at the first Escape.
    else if (event.key === 'Escape') onClose();
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search" onClose={onClose}>
      <input
        type="search"
        role="combobox"
        aria-label="Search tests, sessions, pools, machines and views"
        aria-expanded={hits.length > 0}
        aria-controls="hits"
        aria-autocomplete="list"
        list={undefined}
        {...(hits[current] && { 'aria-activedescendant': `hit-${current}` })}
        placeholder="Search tests, sessions, pools, machines…"
        value={query}
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value);
          choose(0);
        }}
        onKeyDown={press}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, index) => (
          <li
            key={hit.id}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => open(hit)}
            onMouseMove={() => choose(index)}
          >
            <span class="kind">{hit.kind}</span>
            <span class="text">{hit.text}</span>
            <span class="quiet">{hit.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="empty">Nothing has this name.</p>}
    </dialog>
  );
}

function hitsOf(query: string, state: DashboardState, views: readonly View[]): Hit[] {
  const found = views
    .filter(({ title }) => matches(query, title))
    .map(({ id, title }) => hit('View', id, title, hrefOf(id)));
  if (query === '') return found.slice(0, mostHits);
  const leases = search(query, leasesOf(state), namesOf, ({ run, worker }) => [run, worker]);
  const pools = state.pools.filter(({ id, name }) => matches(query, name, id));
  const machines = state.machines.filter(({ id }) => matches(query, id));
  found.push(
    ...leases.map(({ id, test, title, file, endedAt }) => {
      const detail = [file, endedAt === undefined ? 'running' : 'ended'].filter(Boolean).join(', ');
      return hit(test === undefined ? 'Session' : 'Test', id, title, hrefOf('leases', { session: id }), detail);
    }),
    ...pools.map(({ id, name = id }) => hit('Pool', id, name, hrefOf('pools', { q: name }))),
    ...machines.map(({ id }) => hit('Machine', id, machineName(id), hrefOf('leases', { machine: id }))),
  );
  const elsewhere = views
    .filter(({ isSearchable }) => isSearchable)
    .map(({ id, title }) => hit('Search', `search ${id}`, `“${query}” in ${title}`, hrefOf(id, { q: query })));
  return [...found.slice(0, mostHits), ...elsewhere];
}

function hit(kind: string, id: string, text: string, href: string, detail = ''): Hit {
  return { kind, id, text, href, detail };
}
