import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { hrefOf } from '../app/place.browser.ts';
import type { View } from '../app/view.browser.ts';
import { bestFirst, machineName, matches } from './format.browser.ts';

type Hit = { id: string; kind: string; text: string; detail: string; href: string };

const mostHits = 12;

/** The search dialog, which Ctrl+K opens. Finds views, tests, sessions, pools and machines. */
export function Palette({
  state,
  views,
  onClose,
}: {
  state: DashboardState;
  views: readonly View[];
  onClose: () => void;
}) {
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

function hitsOf(query: string, { sessions, ended, pools, machines }: DashboardState, views: readonly View[]): Hit[] {
  const hits: Hit[] = views
    .filter(({ title }) => matches(query, title))
    .map(({ id, title }) => ({ id, kind: 'View', text: title, detail: '', href: hrefOf(id) }));
  if (query !== '') {
    const leased = sessions.filter(({ state }) => state === 'leased');
    const tests = [...leased, ...ended].filter(({ id, test, earlier_tests: earlier = [], file, name, run, worker }) =>
      matches(query, test, ...earlier, file, name, run, worker, id),
    );
    hits.push(
      ...bestFirst(query, tests, ({ test, earlier_tests: earlier = [], file, name, id }) => [
        test,
        ...earlier,
        file,
        name,
        id,
      ]).map(({ id, test, name, file, ...rest }) => ({
        id,
        kind: test === undefined ? 'Session' : 'Test',
        text: test ?? name ?? id,
        detail: [file, 'reason' in rest ? 'ended' : 'running'].filter(Boolean).join(', '),
        href: hrefOf('leases', { session: id }),
      })),
      ...pools
        .filter(({ id, name }) => matches(query, name, id))
        .map(({ id, name }) => ({
          id,
          kind: 'Pool',
          text: name ?? id,
          detail: '',
          href: hrefOf('pools', { q: name ?? id }),
        })),
      ...machines
        .filter(({ id }) => matches(query, id))
        .map(({ id }) => ({
          id,
          kind: 'Machine',
          text: machineName(id),
          detail: '',
          href: hrefOf('leases', { machine: id }),
        })),
    );
  }
  const found = hits.slice(0, mostHits);
  if (query === '') return found;
  const elsewhere = views
    .filter(({ isSearchable }) => isSearchable)
    .map(({ id, title }) => ({
      id: `search ${id}`,
      kind: 'Search',
      text: `“${query}” in ${title}`,
      detail: '',
      href: hrefOf(id, { q: query }),
    }));
  return [...found, ...elsewhere];
}
