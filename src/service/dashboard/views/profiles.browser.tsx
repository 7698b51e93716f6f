import { useState } from 'preact/hooks';
import type { Profile } from '../../../contract/profiles.ts';
import { call, download } from '../app/api.browser.ts';
import { Confirmation } from '../ui/dialog.browser.tsx';
import { attempt } from '../ui/messages.browser.tsx';
import { listPath, ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { bytes, Moment } from '../ui/time.browser.tsx';
import type { View, ViewProps } from '../app/view.browser.ts';

/** The view of stored profiles: download and delete them. */
export const profiles: View = { id: 'profiles', title: 'Profiles', isSearchable: true, component: Profiles };

function Profiles({ state, params }: ViewProps) {
  const { q, offset, project } = params;
  const list = useList<Profile>(listPath('/profiles', { query: q, offset }), project);
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
  return (
    <>
      <ListView
        label="Profiles"
        search="Search by name or id"
        list={list}
        columns={columnsOf({ save, ask })}
        params={params}
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

type Actions = { save: (profile: Profile) => void; ask: (profile: Profile) => void };

function columnsOf({ save, ask }: Actions): Column<Profile>[] {
  return [
    {
      id: 'name',
      title: 'Name',
      sort: (profile) => nameOf(profile).toLowerCase(),
      cell: ({ id, name }) => (
        <>
          <span class="title" title={name ?? id}>
            {name ?? id}
          </span>
          {name !== null && <small class="clip">{id}</small>}
        </>
      ),
    },
    {
      id: 'size',
      title: 'Size',
      width: '7rem',
      isNumber: true,
      isWide: true,
      sort: ({ size_bytes = 0 }) => size_bytes,
      cell: ({ size_bytes }) => (size_bytes === undefined ? '–' : bytes(size_bytes)),
    },
    {
      id: 'used',
      title: 'Last use',
      width: '10rem',
      isWide: true,
      sort: ({ last_used_at = '' }) => last_used_at,
      cell: ({ last_used_at }) => (last_used_at === undefined ? 'Never' : <Moment at={last_used_at} />),
    },
    {
      id: 'saved',
      title: 'Changed',
      width: '10rem',
      isWide: true,
      sort: ({ updated_at = '' }) => updated_at,
      cell: ({ updated_at }) => <Moment at={updated_at} />,
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '12.75rem',
      hasButtons: true,
      cell: (profile) => (
        <div class="actions">
          <button
            type="button"
            aria-label={`Download ${nameOf(profile)}`}
            disabled={profile.size_bytes === undefined}
            title={profile.size_bytes === undefined ? 'No session has saved this profile yet' : undefined}
            onClick={() => save(profile)}
          >
            Download
          </button>
          <button type="button" class="danger" aria-label={`Delete ${nameOf(profile)}`} onClick={() => ask(profile)}>
            Delete…
          </button>
        </div>
      ),
    },
  ];
}

function nameOf({ name, id }: Profile): string {
  return name ?? id;
}

function pathOf(id: string): string {
  return `/profiles/${encodeURIComponent(id)}`;
}
