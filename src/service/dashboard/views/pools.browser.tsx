import { useState } from 'preact/hooks';
import { call } from '../app/api.browser.ts';
import type { DashboardState, PoolState } from '../../../contract/dashboard-events.ts';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import { Age } from '../ui/time.browser.tsx';
import { Bar, Figures } from '../ui/columns.browser.tsx';
import { Buttons, Confirmation, Dialog } from '../ui/dialog.browser.tsx';
import { Filter } from '../ui/toolbar.browser.tsx';
import { counted, matches } from '../ui/format.browser.ts';
import { attempt } from '../ui/messages.browser.tsx';

/** The view of browser pools: their use, and buttons to resize and flush them. */
export const pools: View = { id: 'pools', title: 'Pools', component: Pools };

function Pools({ state, params }: ViewProps) {
  const shown = state.pools
    .filter(({ id, name, profile, engine }) => matches(params['q'] ?? '', name, id, profile, engine))
    .sort((one, other) => other.waiting - one.waiting || nameOf(one).localeCompare(nameOf(other)));
  return (
    <>
      <div class="toolbar">
        <Filter label="Filter by name, engine or profile" value={params['q']} />
        <p class="quiet">{counted(shown.length, 'pool')}</p>
      </div>
      {shown.length === 0 ? (
        <p class="empty">{state.pools.length === 0 ? 'There is no pool yet.' : 'No pool fits the filter.'}</p>
      ) : (
        <ul class="cards">
          {shown.map((pool) => (
            <PoolCard key={pool.id} pool={pool} state={state} />
          ))}
        </ul>
      )}
    </>
  );
}

function PoolCard({ pool, state }: { pool: PoolState; state: DashboardState }) {
  const [asked, ask] = useState<'resize' | 'flush'>();
  const { size, leased, free, starting, waiting, oldest_wait_at, wait_reason, profile, engine, project_id } = pool;
  const project = state.service.projects.find(({ id }) => id === project_id)?.name;
  const path = `/browser_pools/${encodeURIComponent(pool.id)}`;
  const flush = () => void attempt('Pool flushed', () => call('POST', `${path}/flush`, { project: project_id }));
  const resize = (wanted: number) =>
    void attempt(`Size changed to ${wanted}`, () =>
      call('PATCH', path, { project: project_id, body: { size: wanted } }),
    );
  const close = () => ask(undefined);
  const figures = { Size: size, Leased: leased, Free: free, Starting: starting, Waiting: waiting };
  return (
    <li class="card pool">
      <div class="heading">
        <h2 class="title" title={nameOf(pool)}>
          {nameOf(pool)}
        </h2>
        <small>
          {[engine, state.service.projects.length > 1 && project, profile && `profile ${profile}`]
            .filter(Boolean)
            .join(' · ')}
        </small>
      </div>
      <Bar leased={leased} starting={starting} free={free} size={size} />
      <Figures figures={figures} alarm="Waiting" />
      {wait_reason !== undefined && (
        <p class="reason" data-tone="warn">
          {wait_reason}
          {oldest_wait_at !== undefined && (
            <>
              , the longest for <Age since={oldest_wait_at} />
            </>
          )}
        </p>
      )}
      <div class="actions">
        <a class="button" href={hrefOf('leases', { q: nameOf(pool) })}>
          Leases
        </a>
        <button type="button" onClick={() => ask('resize')}>
          Resize…
        </button>
        <button type="button" onClick={() => ask('flush')}>
          Flush…
        </button>
      </div>
      {asked === 'resize' && <Resize pool={pool} onResize={resize} onClose={close} />}
      {asked === 'flush' && (
        <Confirmation
          title={`Flush ${nameOf(pool)}?`}
          text="New browsers replace the free ones. Leased browsers stay."
          action="Flush"
          onConfirm={flush}
          onClose={close}
        />
      )}
    </li>
  );
}

type ResizeProps = { pool: PoolState; onResize: (size: number) => void; onClose: () => void };

function Resize({ pool, onResize, onClose }: ResizeProps) {
  const [size, setSize] = useState(String(pool.size));
  const submit = () => {
    onClose();
    onResize(Number(size));
  };
  return (
    <Dialog
      title={`Resize ${nameOf(pool)}`}
      onClose={onClose}
      onSubmit={submit}
      actions={<Buttons action="Resize" onClose={onClose} />}
    >
      <label>
        Browsers
        <input
          type="number"
          min={1}
          max={100_000}
          required
          value={size}
          onInput={({ currentTarget }) => setSize(currentTarget.value)}
        />
      </label>
      <p class="quiet">A smaller size ends free browsers at once, and leased ones after their lease.</p>
    </Dialog>
  );
}

function nameOf({ name, id }: PoolState): string {
  return name ?? id;
}
