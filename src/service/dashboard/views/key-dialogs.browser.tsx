import { useRef, useState } from 'preact/hooks';
import type { ApiKey, CreatedApiKey } from '../../../contract/api-keys.ts';
import { call } from '../app/api.browser.ts';
import type { ServiceState } from '../../../contract/dashboard-events.ts';
import { Buttons, Dialog } from '../ui/dialog.browser.tsx';
import { tellError } from '../ui/messages.browser.tsx';
import { Choice } from '../ui/toolbar.browser.tsx';

type Asking = { onCreated: (created: CreatedApiKey) => void; onClose: () => void };

const lifetimes = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'Never'],
] as const;

const graceDays = [
  ['0', 'At once'],
  ['1', 'In 1 day'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
] as const;

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
        <Choice
          value={project}
          options={[...projects.map(({ id, name }) => [id, name] as const), ['', 'All projects (organization key)']]}
          onChange={setProject}
        />
      </label>
      <label>
        Expires after
        <Choice value={days} options={lifetimes} onChange={setDays} />
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
        <Choice value={days} options={graceDays} onChange={setDays} />
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
