import type { Replay } from '../../../contract/replays.ts';
import { duration } from '../ui/format.browser.ts';
import { listPath, ListView, useList, withIds } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Moment } from '../ui/time.browser.tsx';
import type { View, ViewProps } from '../app/view.browser.ts';

/** The view of recorded replays, with links to their player. */
export const replays: View = { id: 'replays', title: 'Replays', isSearchable: true, component: Replays };

type Row = Replay & { id: string };

function Replays({ state, params }: ViewProps) {
  const { q, offset, project } = params;
  const list = useList<Replay>(listPath('/replays', { query: q, offset }), project);
  return (
    <ListView<Row>
      label="Replays"
      search="Search by test title or session"
      list={withIds(list, ({ replay_id }) => replay_id)}
      columns={columns}
      params={params}
      state={state}
      notFound="No replay has this text in its title or session."
      none={
        <>
          There are no replays. Set <code>poolReplay: 'retain-on-failure'</code> in <code>playwright.config.ts</code> to
          record tests.
        </>
      }
    />
  );
}

const columns: Column<Row>[] = [
  {
    id: 'title',
    title: 'Test',
    sort: ({ title = '' }) => title.toLowerCase(),
    cell: ({ title, session_id, replay_view_url }) => (
      <>
        <a class="title" href={replay_view_url} target="_blank" rel="noreferrer" title={title}>
          {title ?? 'Untitled'}
          <span class="unseen"> (opens the player in a new tab)</span>
        </a>
        <small class="clip">{session_id}</small>
      </>
    ),
  },
  {
    id: 'started',
    title: 'Started',
    width: '10rem',
    isWide: true,
    sort: ({ started_at }) => started_at ?? '',
    cell: ({ started_at }) => <Moment at={started_at} />,
  },
  {
    id: 'length',
    title: 'Length',
    width: '7rem',
    isNumber: true,
    isWide: true,
    sort: (replay) => lengthOf(replay) ?? 0,
    cell: (replay) => {
      const length = lengthOf(replay);
      return length === undefined ? '–' : duration(length);
    },
  },
  {
    id: 'state',
    title: 'State',
    width: '8.5rem',
    sort: (replay) => stateOf(replay).text,
    cell: (replay) => {
      const { text, tone } = stateOf(replay);
      return (
        <span class="badge" data-tone={tone} title={replay.error_message}>
          {text}
        </span>
      );
    },
  },
];

function lengthOf({ started_at, finished_at }: Replay): number | undefined {
  return started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : undefined;
}

function stateOf({ finished_at, error_message }: Replay): { text: string; tone: string } {
  if (error_message !== undefined) return { text: 'Broke off', tone: 'bad' };
  return finished_at ? { text: 'Complete', tone: '' } : { text: 'Recording', tone: 'good' };
}
