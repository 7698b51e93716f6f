import { useState } from 'preact/hooks';
import type { ApiKey, CreatedApiKey } from '../../../contract/api-keys.ts';
import { call } from '../app/api.browser.ts';
import { Confirmation } from '../ui/dialog.browser.tsx';
import { attempt } from '../ui/messages.browser.tsx';
import { listPath, ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Moment } from '../ui/time.browser.tsx';
import type { View, ViewProps } from '../app/view.browser.ts';
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
  const { q, offset } = params;
  const list = useList<ApiKey>(listPath('/org/api_keys', { query: q, offset }));
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
      await call('DELETE', keyPath(id));
      list.reload();
    });
  return (
    <>
      <ListView
        label="Keys"
        search="Search by name, project or creator"
        list={list}
        columns={columnsOf(ask)}
        params={params}
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

function keyPath(id: string): string {
  return `/org/api_keys/${encodeURIComponent(id)}`;
}

function columnsOf(ask: (asked: Asked) => void): Column<ApiKey>[] {
  return [
    {
      id: 'name',
      title: 'Name',
      sort: ({ name }) => name.toLowerCase(),
      cell: ({ name, masked_key }) => (
        <>
          <span class="title" title={name}>
            {name}
          </span>
          <small class="clip">{masked_key}</small>
        </>
      ),
    },
    {
      id: 'project',
      title: 'Project',
      width: '10rem',
      isWide: true,
      sort: ({ project_name }) => project_name ?? '',
      cell: ({ project_id, project_name }) => (
        <span class="clip" title={project_name ?? undefined}>
          {project_id === null ? 'All projects' : (project_name ?? project_id)}
        </span>
      ),
    },
    {
      id: 'creator',
      title: 'Created by',
      width: '10rem',
      isWide: true,
      sort: ({ created_by }) => created_by.name ?? '',
      cell: ({ created_by: { name, id } }) => (
        <span class="clip" title={name ?? id}>
          {name ?? id}
        </span>
      ),
    },
    {
      id: 'created',
      title: 'Created',
      width: '9rem',
      isWide: true,
      sort: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Moment at={created_at} />,
    },
    {
      id: 'expires',
      title: 'Expires',
      width: '9rem',
      isWide: true,
      sort: ({ expires_at }) => expires_at ?? '9',
      cell: ({ expires_at }) => (expires_at === null ? 'Never' : <Moment at={expires_at} />),
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '12.25rem',
      hasButtons: true,
      cell: (key) => (
        <div class="actions">
          <button type="button" aria-label={`Rotate ${key.name}`} onClick={() => ask({ action: 'rotate', key })}>
            Rotate…
          </button>
          <button
            type="button"
            class="danger"
            aria-label={`Delete ${key.name}`}
            onClick={() => ask({ action: 'delete', key })}
          >
            Delete…
          </button>
        </div>
      ),
    },
  ];
}
