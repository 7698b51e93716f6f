import type { Replay } from '../../../contract/replays.ts';
import { numberColumn, stateColumn, timeColumn, titleColumn, type BadgeProps } from '../ui/columns.browser.tsx';
import { duration } from '../ui/format.browser.ts';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import type { View, ViewProps } from '../app/place.browser.ts';

/** The view of recorded replays, with links to their player. */
export const replays: View = { id: 'replays', title: 'Replays', isSearchable: true, component: Replays };

function Replays({ state, params }: ViewProps) {
  const list = useList<Replay>('/replays', params);
  return (
    <ListView
      label="Replays"
      search="Search by test title or session"
      list={list}
      columns={columns}
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

const columns: Column<Replay>[] = [
  titleColumn('title', 'Test', ({ title = 'Untitled', session_id, replay_view_url }) => ({
    text: title,
    below: session_id,
    href: replay_view_url,
    opens: 'the player',
  })),
  timeColumn('started', 'Started', ({ started_at }) => started_at, { width: '10rem' }),
  numberColumn('length', 'Length', lengthOf, { textOf: duration, isWide: true }),
  stateColumn(stateOf),
];

function lengthOf({ started_at, finished_at }: Replay): number | undefined {
  return started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : undefined;
}

function stateOf({ finished_at, error_message: hint }: Replay): BadgeProps {
  if (hint !== undefined) return { text: 'Broke off', tone: 'bad', hint };
  return finished_at ? { text: 'Complete', tone: '' } : { text: 'Recording', tone: 'good' };
}
