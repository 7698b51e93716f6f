import { useState } from 'preact/hooks';
import type { Profile } from '../../../contract/profiles.ts';
import { call, download } from '../app/api.browser.ts';
import { actionsColumn, numberColumn, timeColumn, titleColumn } from '../ui/columns.browser.tsx';
import { Confirmation } from '../ui/dialog.browser.tsx';
import { attempt } from '../ui/messages.browser.tsx';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { bytes } from '../ui/format.browser.ts';
import type { View, ViewProps } from '../app/place.browser.ts';

/** The view of stored profiles: download and delete them. */
export const profiles: View = { id: 'profiles', title: 'Profiles', isSearchable: true, component: Profiles };

function Profiles({ state, params }: ViewProps) {
  const { project } = params;
  const list = useList<Profile>('/profiles', params);
  const [asked, ask] = useState<Profile>();
  const remove = ({ id }: Profile) =>
    void attempt('Profile deleted', async () => {
      await call('DELETE', pathOf(id), { project });
      list.reload();
    });
  const save = (profile: Profile) =>
    void attempt('Profile downloaded', () =>
      download(`${pathOf(profile.id)}/download`, `${nameOf(profile)}.tar.zst`, { project }),
    );
  const columns: Column<Profile>[] = [
    titleColumn('name', 'Name', ({ id, name }) => (name === null ? { text: id } : { text: name, below: id })),
    numberColumn('size', 'Size', ({ size_bytes }) => size_bytes, { textOf: bytes, isWide: true }),
    timeColumn('used', 'Last use', ({ last_used_at }) => last_used_at, { width: '10rem', none: 'Never' }),
    timeColumn('saved', 'Changed', ({ updated_at }) => updated_at, { width: '10rem' }),
    actionsColumn('12.75rem', (profile) => [
      {
        text: 'Download',
        label: `Download ${nameOf(profile)}`,
        refusal: profile.size_bytes === undefined ? 'No session has saved this profile yet' : undefined,
        act: () => save(profile),
      },
      { text: 'Delete…', label: `Delete ${nameOf(profile)}`, isDanger: true, act: () => ask(profile) },
    ]),
  ];
  return (
    <>
      <ListView
        label="Profiles"
        search="Search by name or id"
        list={list}
        columns={columns}
        state={state}
        notFound="No profile has this text in its name or id."
        none={
          <>
            There are no profiles. Create one with <code>npx playwright-pool profiles create NAME</code>, or upload the
            one of your own Chrome.
          </>
        }
      />
      {asked && (
        <Confirmation
          title={`Delete the profile ${nameOf(asked)}?`}
          text="Its cookies and storage are lost. Running browsers keep their copies, but can't save them any more."
          action="Delete"
          onConfirm={() => remove(asked)}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  );
}

function nameOf({ name, id }: Profile): string {
  return name ?? id;
}

function pathOf(id: string): string {
  return `/profiles/${encodeURIComponent(id)}`;
}
