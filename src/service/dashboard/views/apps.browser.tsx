import type { AppVersion } from '../../../contract/apps.ts';
import type { Deployment } from '../../../contract/deployments.ts';
import type { Invocation } from '../../../contract/invocations.ts';
import { hrefOf } from '../app/place.browser.ts';
import { duration } from '../ui/format.browser.ts';
import { listPath, ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Tabs } from '../ui/tabs.browser.tsx';
import { Moment } from '../ui/time.browser.tsx';
import type { View, ViewProps } from '../app/view.browser.ts';
import { AppLog } from './app-log.browser.tsx';

/** The view of deployed apps: their versions, deployments, invocations and logs. */
export const apps: View = { id: 'apps', title: 'Apps', isSearchable: true, component: Apps };

const tabs = [
  ['versions', 'Versions'],
  ['deployments', 'Deployments'],
  ['invocations', 'Invocations'],
] as const;

function Apps(props: ViewProps) {
  const { tab = 'versions', deployment, invocation, project } = props.params;
  const Tab = tab === 'deployments' ? Deployments : tab === 'invocations' ? Invocations : Versions;
  if (deployment) return <AppLog kind="deployments" id={deployment} tab={tab} project={project} />;
  if (invocation) return <AppLog kind="invocations" id={invocation} tab={tab} project={project} />;
  return (
    <>
      <Tabs view="apps" tabs={tabs} current={tab} project={project} />
      <Tab {...props} />
    </>
  );
}

const deployHint = (
  <>
    There are no apps. Deploy one with <code>npx playwright-pool deploy index.ts</code>.
  </>
);

function Versions({ state, params }: ViewProps) {
  const { q, offset, project } = params;
  const list = useList<AppVersion>(listPath('/apps', { query: q, offset }), project);
  const columns: Column<AppVersion>[] = [
    {
      id: 'app',
      title: 'App',
      sort: ({ app_name }) => app_name.toLowerCase(),
      cell: ({ app_name, version, deployment }) => (
        <>
          <a class="title" title={app_name} href={hrefOf('apps', { deployment, project })}>
            {app_name}
          </a>
          <small class="clip">Version {version}</small>
        </>
      ),
    },
    {
      id: 'actions',
      title: 'Actions',
      cell: ({ actions }) => {
        const names = actions.map(({ name }) => name).join(', ');
        return (
          <span class="clip" title={names}>
            {names}
          </span>
        );
      },
    },
  ];
  return (
    <ListView
      label="Versions"
      search="Search by app"
      list={list}
      columns={columns}
      params={params}
      state={state}
      notFound="No app has this text in its name."
      none={deployHint}
    />
  );
}

function Deployments({ state, params }: ViewProps) {
  const { q, offset, project } = params;
  const list = useList<Deployment>(listPath('/deployments', { query: q, offset }), project);
  const columns: Column<Deployment>[] = [
    {
      id: 'id',
      title: 'Deployment',
      cell: ({ id, entrypoint_rel_path }) => (
        <>
          <a class="title" href={hrefOf('apps', { tab: 'deployments', deployment: id, project })}>
            {id}
          </a>
          <small class="clip" title={entrypoint_rel_path}>
            {entrypoint_rel_path}
          </small>
        </>
      ),
    },
    {
      id: 'reason',
      title: 'Reason',
      isWide: true,
      cell: ({ status_reason }) => (
        <span class="clip" title={status_reason}>
          {status_reason ?? '–'}
        </span>
      ),
    },
    createdColumn,
    stateColumn,
  ];
  return (
    <ListView
      label="Deployments"
      search="Search by app or id"
      list={list}
      columns={columns}
      params={params}
      state={state}
      notFound="No deployment has this text in its app or id."
      none={deployHint}
    />
  );
}

function Invocations({ state, params }: ViewProps) {
  const { q, offset, project } = params;
  const list = useList<Invocation>(listPath('/invocations', { query: q, offset }), project);
  const columns: Column<Invocation>[] = [
    {
      id: 'action',
      title: 'Action',
      sort: ({ action_name }) => action_name.toLowerCase(),
      cell: ({ id, action_name, app_name, version }) => (
        <>
          <a class="title" title={action_name} href={hrefOf('apps', { tab: 'invocations', invocation: id, project })}>
            {action_name}
          </a>
          <small class="clip" title={`${app_name} ${version}`}>
            {app_name} {version}
          </small>
        </>
      ),
    },
    {
      id: 'reason',
      title: 'Reason',
      isWide: true,
      cell: ({ status_reason }) => (
        <span class="clip" title={status_reason}>
          {status_reason ?? '–'}
        </span>
      ),
    },
    {
      id: 'started',
      title: 'Started',
      width: '9rem',
      isWide: true,
      sort: ({ started_at }) => started_at,
      cell: ({ started_at }) => <Moment at={started_at} />,
    },
    {
      id: 'time',
      title: 'Time',
      width: '7rem',
      isNumber: true,
      isWide: true,
      cell: ({ started_at, finished_at }) =>
        finished_at ? duration(Date.parse(finished_at) - Date.parse(started_at)) : '–',
    },
    stateColumn,
  ];
  return (
    <ListView
      label="Invocations"
      search="Search by app, action or id"
      list={list}
      columns={columns}
      params={params}
      state={state}
      notFound="No invocation has this text in its app, action or id."
      none={
        <>
          No action was invoked. Invoke one with <code>npx playwright-pool invoke APP ACTION</code>.
        </>
      }
    />
  );
}

const createdColumn: Column<{ created_at: string }> = {
  id: 'created',
  title: 'Created',
  width: '9rem',
  isWide: true,
  sort: ({ created_at }) => created_at,
  cell: ({ created_at }) => <Moment at={created_at} />,
};

const tones: Record<string, string> = { running: 'good', succeeded: 'good', failed: 'bad', stopped: '' };

const stateColumn: Column<{ status: string }> = {
  id: 'state',
  title: 'State',
  width: '8.5rem',
  sort: ({ status }) => status,
  cell: ({ status }) => (
    <span class="badge" data-tone={tones[status] ?? 'warn'}>
      {status.replace('_', ' ')}
    </span>
  ),
};
