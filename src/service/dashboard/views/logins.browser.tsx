import { useState } from 'preact/hooks';
import type { AuthConnection } from '../../../contract/auth-connections.ts';
import { call } from '../app/api.browser.ts';
import { actionsColumn, stateColumn, timeColumn, titleColumn, type BadgeProps } from '../ui/columns.browser.tsx';
import { Dialog } from '../ui/dialog.browser.tsx';
import { duration } from '../ui/format.browser.ts';
import { tellError } from '../ui/messages.browser.tsx';
import { ListView, useList } from '../ui/list-view.browser.tsx';
import type { Column } from '../ui/table.browser.tsx';
import { Moment } from '../ui/time.browser.tsx';
import type { View, ViewProps } from '../app/place.browser.ts';

/** The view of auth connections: each keeps a profile logged in to a site. */
export const logins: View = { id: 'logins', title: 'Logins', isSearchable: true, component: Logins };

type Started = { connection: AuthConnection; hosted_url: string; flow_expires_at: string };

function Logins({ state, params }: ViewProps) {
  const { project } = params;
  const list = useList<AuthConnection>('/auth/connections', params);
  const [started, set] = useState<Started>();
  const logIn = async (connection: AuthConnection) => {
    try {
      const path = `/auth/connections/${encodeURIComponent(connection.id)}/login`;
      set({ connection, ...(await call<Omit<Started, 'connection'>>('POST', path, { project, body: {} })) });
    } catch (error) {
      tellError(error);
    }
  };
  const close = () => {
    set(undefined);
    list.reload();
  };
  return (
    <>
      <ListView
        label="Logins"
        search="Search by site, profile or id"
        list={list}
        columns={columnsOf((connection) => void logIn(connection))}
        state={state}
        notFound="No login has this text in its site, profile or id."
        none={
          <>
            No profile is logged in to a site. Create a connection with <code>client.auth.connections.create()</code> or
            by the option <code>poolProfile</code>.
          </>
        }
      />
      {started && <StartedLogin started={started} onClose={close} />}
    </>
  );
}

function StartedLogin({ started, onClose }: { started: Started; onClose: () => void }) {
  const { connection, hosted_url, flow_expires_at } = started;
  const actions = (
    <>
      <button type="button" onClick={onClose}>
        Close
      </button>
      <a class="button primary" href={hosted_url} target="_blank" rel="noreferrer">
        Open the login
      </a>
    </>
  );
  return (
    <Dialog title={`Log in to ${connection.domain}`} onClose={onClose} actions={actions}>
      <p>
        The service has started a login for the profile “{connection.profile_name}”. If it asks for something, answer in
        the login view. Whoever has the link can log in.
      </p>
      <p class="quiet">The link works until {new Date(flow_expires_at).toLocaleTimeString()}.</p>
    </Dialog>
  );
}

function columnsOf(logIn: (connection: AuthConnection) => void): Column<AuthConnection>[] {
  return [
    titleColumn('site', 'Site', ({ domain, profile_name }) => ({ text: domain, below: `Profile ${profile_name}` })),
    stateColumn(stateOf, { width: '10.5rem' }),
    timeColumn('checked', 'Last check', ({ last_auth_check_at }) => last_auth_check_at, { none: 'Never' }),
    {
      id: 'next',
      title: 'Next check',
      width: '10.5rem',
      isWide: true,
      sort: (connection) => nextCheckOf(connection) ?? '',
      cell: (connection) => {
        const { health_checks, health_check_interval } = connection;
        const next = nextCheckOf(connection);
        if (!health_checks || !health_check_interval) return 'Off';
        return next === undefined ? `within ${duration(health_check_interval * 1000)}` : <Moment at={next} />;
      },
    },
    actionsColumn('6.5rem', (connection) => [
      {
        text: 'Log in…',
        label: `Log in to ${connection.domain} with the profile ${connection.profile_name}`,
        refusal: connection.flow_status === 'IN_PROGRESS' ? 'A login is running already' : undefined,
        act: () => logIn(connection),
      },
    ]),
  ];
}

const steps: Record<string, string> = {
  DISCOVERING: 'Opening the site',
  AWAITING_INPUT: 'Waits for answers',
  AWAITING_EXTERNAL_ACTION: 'Waits for a person',
  SUBMITTING: 'Logging in',
};

function stateOf({ status, flow_status, flow_step }: AuthConnection): BadgeProps {
  if (flow_status === 'IN_PROGRESS') return { text: steps[flow_step ?? ''] ?? 'Logging in', tone: '' };
  return status === 'AUTHENTICATED' ? { text: 'Logged in', tone: 'good' } : { text: 'Needs a login', tone: 'warn' };
}

function nextCheckOf({ health_checks, last_auth_check_at, health_check_interval }: AuthConnection) {
  if (!health_checks || !last_auth_check_at || !health_check_interval) return undefined;
  return new Date(Date.parse(last_auth_check_at) + health_check_interval * 1000).toISOString();
}
