import { useState } from 'preact/hooks';
import type { ApiKey, CreatedApiKey } from '../../../contract/api-keys.ts';
import { call } from '../app/api.browser.ts';
import { actionsColumn, textColumn, timeColumn, titleColumn } from '../ui/columns.browser.tsx';
import { Confirmation } from '../ui/dialog.browser.tsx';
import { attempt } from '../ui/messages.browser.tsx';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import type { View, ViewProps } from '../app/place.browser.ts';
import { NewKey, Rotation, Secret } from './key-dialogs.browser.tsx';

/** The view of API keys: create, rotate and delete them. */
export const keys: View = {
  id: 'keys',
  title: 'Keys',
  isSearchable: true,
  isForOrganization: true,
  component: Keys,
};

type Asked = { action: 'create' } | { action: 'rotate' | 'delete'; key: ApiKey };

function Keys({ state, params }: ViewProps) {
  const { q, offset, sort } = params;
  const list = useList<ApiKey>('/org/api_keys', { q, offset, sort });
  const [asked, ask] = useState<Asked>();
  const [created, setCreated] = useState<CreatedApiKey>();
  const close = () => ask(undefined);
  const show = (key: CreatedApiKey) => {
    close();
    setCreated(key);
    list.reload();
  };
  const remove = ({ id }: ApiKey) =>
    void attempt('Key deleted', async () => {
      await call('DELETE', `/org/api_keys/${encodeURIComponent(id)}`);
      list.reload();
    });
  const columns: Column<ApiKey>[] = [
    titleColumn('name', 'Name', ({ name, masked_key }) => ({ text: name, below: masked_key })),
    textColumn('project', 'Project', projectOf, { width: '10rem', isWide: true }),
    textColumn('creator', 'Created by', ({ created_by: { name, id } }) => name ?? id, {
      width: '10rem',
      isWide: true,
    }),
    timeColumn('created', 'Created', ({ created_at }) => created_at),
    // Keys without an end come last.
    timeColumn('expires', 'Expires', ({ expires_at }) => expires_at, {
      none: 'Never',
      sort: ({ expires_at }) => expires_at ?? '9',
    }),
    actionsColumn('12.25rem', (key) => [
      { text: 'Rotate…', label: `Rotate ${key.name}`, act: () => ask({ action: 'rotate', key }) },
      {
        text: 'Delete…',
        label: `Delete ${key.name}`,
        isDanger: true,
        act: () => ask({ action: 'delete', key }),
      },
    ]),
  ];
  return (
    <>
      <ListView
        label="Keys"
        search="Search by name, project or creator"
        list={list}
        columns={columns}
        notFound="No key has this text in its name, project or creator."
        none="There are no keys. Create one."
        tools={
          <button type="button" class="primary" onClick={() => ask({ action: 'create' })}>
            Create a key…
          </button>
        }
      />
      {asked?.action === 'create' && <NewKey projects={state.service.projects} onCreated={show} onClose={close} />}
      {asked?.action === 'rotate' && <Rotation apiKey={asked.key} onCreated={show} onClose={close} />}
      {asked?.action === 'delete' && (
        <Confirmation
          title={`Delete the key ${asked.key.name}?`}
          text="Clients with this key are refused at once. The keys that it created are deleted too."
          action="Delete"
          onConfirm={() => remove(asked.key)}
          onClose={close}
        />
      )}
      {created && <Secret created={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}

function projectOf({ project_id, project_name }: ApiKey): string {
  return project_id === null ? 'All projects' : (project_name ?? project_id);
}
