import { useState } from 'preact/hooks';
import type { Replay } from '../../../contract/replays.ts';
import { call, listPage } from '../app/api.browser.ts';
import { hrefOf, setParams } from '../app/place.browser.ts';
import type { DashboardState } from '../../../contract/dashboard-events.ts';
import { Badge } from '../ui/columns.browser.tsx';
import { Confirmation, Dialog } from '../ui/dialog.browser.tsx';
import { machineName } from '../ui/format.browser.ts';
import { stateOf, type Lease } from '../ui/leases.browser.ts';
import { listPath, useLoaded } from '../ui/list-view.browser.tsx';
import { attempt } from '../ui/messages.browser.tsx';

/** The dialog with the details of a lease. It can end the session, and links to its live view and replays. */
export function LeaseDetails({ lease, state }: { lease: Lease; state: DashboardState }) {
  const [isEnding, setEnding] = useState(false);
  const { title, file, run, worker, client, pool, machine, name, startedAt, endedAt, project_id, tags = {} } = lease;
  const session = 'session_id' in lease ? lease.session_id : lease.id;
  const replays = useReplays({ session, project_id, startedAt, endedAt });
  const end = () =>
    void attempt('Session ended', () =>
      call('DELETE', `/browsers/${encodeURIComponent(session)}`, { project: project_id }),
    );
  if (isEnding)
    return (
      <Confirmation
        title="End this session?"
        text="Its browser closes at once. A test that uses the browser fails."
        action="End session"
        onConfirm={end}
        onClose={() => setEnding(false)}
      />
    );
  const project = state.service.projects.find(({ id }) => id === project_id)?.name ?? project_id;
  const facts: [string, string | number | undefined][] = [
    ['File', file],
    ['Worker', worker],
    ['Run', run],
    ['Client', client],
    ['Pool', pool && (pool.name ?? pool.id)],
    ['Machine', machine && machineName(machine)],
    ['Project', project],
    ['Session', session],
    ['Name', name],
    ['Leased', new Date(startedAt).toLocaleString()],
    ['Ended', endedAt && new Date(endedAt).toLocaleString()],
    ...Object.entries(tags),
  ];
  const actions = (
    <>
      {endedAt === undefined && (
        <>
          <button type="button" class="danger" onClick={() => setEnding(true)}>
            End session…
          </button>
          <a class="button" href={`/dashboard/live/${session}`} target="_blank" rel="noreferrer">
            Live view
          </a>
        </>
      )}
      <button type="button" onClick={closeDetails}>
        Close
      </button>
    </>
  );
  return (
    <Dialog title={title} onClose={closeDetails} actions={actions}>
      <p>
        <Badge {...stateOf(lease)} />
      </p>
      <dl class="details">
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([key, value], index) => (
            <div key={index}>
              <dt>{key}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        {replays.map(({ replay_id, replay_view_url, title = 'Untitled', finished_at }) => (
          <div key={replay_id}>
            <dt>Replay</dt>
            <dd>
              <a href={replay_view_url} target="_blank" rel="noreferrer">
                {title}
              </a>
              {!finished_at && ' (recording)'}
            </dd>
          </div>
        ))}
      </dl>
      {pool && (
        <p class="quiet">
          <a href={hrefOf('leases', { q: pool.name ?? pool.id })}>All leases of this pool</a>
        </p>
      )}
    </Dialog>
  );
}

/** The recordings of a session that began during a lease. */
function useReplays({
  session,
  project_id: project,
  startedAt,
  endedAt = Infinity,
}: Pick<Lease, 'project_id' | 'startedAt'> & { session: string; endedAt: number | undefined }): Replay[] {
  const load = async (signal: AbortSignal) => {
    const { items } = await listPage<Replay>(listPath('/replays', { query: session }), { project, signal });
    return items.filter(({ session_id, started_at }) => {
      const at = Date.parse(started_at ?? '');
      return session_id === session && at >= startedAt && at <= endedAt;
    });
  };
  // Without replays, the dialog still shows the other facts.
  return useLoaded(load, [session, project, startedAt, endedAt]).value ?? [];
}

function closeDetails(): void {
  setParams({ session: undefined });
}
