import type { AppVersion } from '../../../contract/apps.ts';
import type { Deployment } from '../../../contract/deployments.ts';
import type { Invocation } from '../../../contract/invocations.ts';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import {
  numberColumn,
  stateColumn,
  textColumn,
  timeColumn,
  titleColumn,
  type BadgeProps,
} from '../ui/columns.browser.tsx';
import { duration } from '../ui/format.browser.ts';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Tabs } from '../ui/toolbar.browser.tsx';
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
  const { project } = params;
  const list = useList<AppVersion>('/apps', params);
  const columns: Column<AppVersion>[] = [
    titleColumn('app', 'App', ({ app_name, version, deployment }) => ({
      text: app_name,
      below: `Version ${version}`,
      href: hrefOf('apps', { deployment, project }),
    })),
    textColumn('actions', 'Actions', ({ actions }) => actions.map(({ name }) => name).join(', '), { sort: undefined }),
  ];
  return (
    <ListView
      label="Versions"
      search="Search by app"
      list={list}
      columns={columns}
      state={state}
      notFound="No app has this text in its name."
      none={deployHint}
    />
  );
}

function Deployments({ state, params }: ViewProps) {
  const { project } = params;
  const list = useList<Deployment>('/deployments', params);
  const columns: Column<Deployment>[] = [
    titleColumn(
      'id',
      'Deployment',
      ({ id, entrypoint_rel_path }) => ({
        text: id,
        below: entrypoint_rel_path,
        href: hrefOf('apps', { tab: 'deployments', deployment: id, project }),
      }),
      { sort: undefined },
    ),
    reasonColumn,
    timeColumn('created', 'Created', ({ created_at }) => created_at),
    stateColumn(stateOf),
  ];
  return (
    <ListView
      label="Deployments"
      search="Search by app or id"
      list={list}
      columns={columns}
      state={state}
      notFound="No deployment has this text in its app or id."
      none={deployHint}
    />
  );
}

function Invocations({ state, params }: ViewProps) {
  const { project } = params;
  const list = useList<Invocation>('/invocations', params);
  const columns: Column<Invocation>[] = [
    titleColumn('action', 'Action', ({ id, action_name, app_name, version }) => ({
      text: action_name,
      below: `${app_name} ${version}`,
      href: hrefOf('apps', { tab: 'invocations', invocation: id, project }),
    })),
    reasonColumn,
    timeColumn('started', 'Started', ({ started_at }) => started_at),
    numberColumn('time', 'Time', timeOf, { textOf: duration, isWide: true, sort: undefined }),
    stateColumn(stateOf),
  ];
  return (
    <ListView
      label="Invocations"
      search="Search by app, action or id"
      list={list}
      columns={columns}
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

const reasonColumn = textColumn<{ status_reason?: string | undefined }>(
  'reason',
  'Reason',
  ({ status_reason }) => status_reason,
  { isWide: true, sort: undefined },
);

const tones: Record<string, string> = { running: 'good', succeeded: 'good', failed: 'bad', stopped: '' };

function stateOf({ status }: { status: string }): BadgeProps {
  return { text: status.replace('_', ' '), tone: tones[status] ?? 'warn' };
}

function timeOf({ started_at, finished_at }: Invocation): number | undefined {
  return finished_at ? Date.parse(finished_at) - Date.parse(started_at) : undefined;
}
