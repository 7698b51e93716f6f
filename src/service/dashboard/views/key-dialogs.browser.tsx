import { useRef, useState } from 'preact/hooks';
import type { ApiKey, CreatedApiKey } from '../../../contract/api-keys.ts';
import { call } from '../app/api.browser.ts';
import type { ServiceState } from '../../../contract/dashboard-events.ts';
import { Buttons, Dialog } from '../ui/dialog.browser.tsx';
import { tellError } from '../ui/messages.browser.tsx';

type Asking = { onCreated: (created: CreatedApiKey) => void; onClose: () => void };

const lifetimes: readonly [days: number, title: string][] = [
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
  [365, '1 year'],
];

/** The dialog that creates an API key. */
export function NewKey({ projects, onCreated, onClose }: Asking & { projects: ServiceState['projects'] }) {
  const [name, setName] = useState('');
  const [project, setProject] = useState(projects[0]?.id ?? '');
  const [days, setDays] = useState('90');
  const create = () =>
    void call<CreatedApiKey>('POST', '/org/api_keys', {
      body: { name, project_id: project || null, days_to_expire: days ? Number(days) : null },
    }).then(onCreated, tellError);
  return (
    <Dialog
      title="Create a key"
      onClose={onClose}
      onSubmit={create}
      actions={<Buttons action="Create" onClose={onClose} />}
    >
      <label>
        Name
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </label>
      <label>
        Project
        <select value={project} onChange={({ currentTarget }) => setProject(currentTarget.value)}>
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <option value="">All projects (organization key)</option>
        </select>
      </label>
      <label>
        Expires after
        <select value={days} onChange={({ currentTarget }) => setDays(currentTarget.value)}>
          {lifetimes.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
          <option value="">Never</option>
        </select>
      </label>
    </Dialog>
  );
}

/** The dialog that replaces an API key by a new one. */
export function Rotation({ apiKey, onCreated, onClose }: Asking & { apiKey: ApiKey }) {
  const [days, setDays] = useState('7');
  const rotate = () =>
    void call<CreatedApiKey>('POST', `/org/api_keys/${encodeURIComponent(apiKey.id)}/rotate`, {
      body: { expire_in_days: Number(days) },
    }).then(onCreated, tellError);
  return (
    <Dialog
      title={`Rotate the key ${apiKey.name}`}
      onClose={onClose}
      onSubmit={rotate}
      actions={<Buttons action="Rotate" onClose={onClose} />}
    >
      <p>A new key gets the name and the project of this one.</p>
      <label>
        The old key ends
        <select value={days} onChange={({ currentTarget }) => setDays(currentTarget.value)}>
          <option value="0">At once</option>
          <option value="1">In 1 day</option>
          <option value="7">In 7 days</option>
          <option value="30">In 30 days</option>
        </select>
      </label>
    </Dialog>
  );
}

/** Shows a new key. The service can't show it again. */
export function Secret({ created, onClose }: { created: CreatedApiKey; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    field.current?.select();
    // The browser offers this clipboard only to pages from https or a loopback address.
    await navigator.clipboard?.writeText(created.key).then(
      () => setCopied(true),
      () => {},
    );
  };
  const actions = (
    <>
      <button type="button" onClick={() => void copy()}>
        {copied ? 'Copied' : 'Copy'}
      </button>
      <button type="submit" class="primary">
        Done
      </button>
    </>
  );
  return (
    <Dialog title={`The key ${created.name}`} onClose={onClose} onSubmit={onClose} actions={actions}>
      <p>Copy the key now. The service doesn't show it again.</p>
      <label>
        Key
        <input ref={field} class="secret" readOnly value={created.key} />
      </label>
    </Dialog>
  );
}
