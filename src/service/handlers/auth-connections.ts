import type { AuthConnection, AuthConnectionUpdate, authConnections as operations, TimelineItem } from '../../contract/auth-connections.ts';
import { invalidField } from '../../contract/errors.ts';
import type { TimelineEntry } from '../auth/connection-record.ts';
import type { AuthConnections, Connection } from '../auth/connections.ts';
import { flowEvents, hostedUrl, liveViewUrl } from '../auth/flow-events.ts';
import { tellPrompt } from '../auth/prompt.ts';
import { asksForTelemetry } from '../browsers/session-settings.ts';
import type { Clock } from '../clock.ts';
import { WithStatus, type HandlerTree } from '../http/handler.ts';
import type { AuthConnectionStore } from '../store/auth-connections.ts';

type Means = { connections: AuthConnections; store: AuthConnectionStore; clock: Clock };

export function authConnectionHandlers({ connections, store, clock }: Means): HandlerTree<typeof operations> {
  return {
    create({ body, caller, host }) {
      refuseTelemetry(body);
      return answer(connections.create(caller.projectId, body), host);
    },

    list({ query, caller, host }) {
      const { profile_name: profileName, domain, query: text, limit, offset } = query;
      const page = store.list({ projectId: caller.projectId, profileName, domain, query: text, limit, offset });
      // One that is being deleted is there until its login has ended.
      const found = page.items.flatMap(({ id }) => connections.find(caller.projectId, id) ?? []);
      return { ...page, items: found.map((connection) => answer(connection, host)) };
    },

    retrieve: ({ params, caller, host }) => answer(connections.get(caller.projectId, params.id), host),

    update({ params, body, caller, host }) {
      refuseTelemetry(body);
      return answer(connections.update(caller.projectId, params.id, body), host);
    },

    delete: ({ params, caller }) => connections.delete(caller.projectId, params.id),

    login({ params, body, caller, host }) {
      refuseTelemetry(body);
      const { id } = connections.get(caller.projectId, params.id).record;
      const { token, state, session } = connections.login(caller.projectId, id, body);
      return {
        id,
        flow_type: state.type,
        hosted_url: hostedUrl(token, host),
        flow_expires_at: new Date(state.expiresAt).toISOString(),
        ...(session && { live_view_url: liveViewUrl(session, host) }),
      };
    },

    submit({ params, body, caller }) {
      connections.submit(caller.projectId, params.id, body);
      return new WithStatus(202, { accepted: true as const });
    },

    follow({ params, caller, host, signal }) {
      const { id } = connections.get(caller.projectId, params.id).record;
      return flowEvents(connections.logins.follow(id, signal), { host, clock });
    },

    timeline({ params, query, caller }) {
      const { id } = connections.get(caller.projectId, params.id).record;
      const page = store.timeline(id, query);
      return { ...page, items: page.items.map(timelineItem) };
    },
  };

  function answer({ record, flow }: Connection, host: string): AuthConnection {
    const { settings } = record;
    const { can, reason } = connections.logins.canReauth(record);
    const checkedAt = record.checkedAt === undefined ? undefined : new Date(record.checkedAt).toISOString();
    return {
      id: record.id,
      profile_name: record.profileName,
      domain: record.domain,
      status: record.status,
      save_credentials: settings.saveCredentials,
      record_session: settings.recordSession,
      ...(checkedAt !== undefined && { last_auth_check_at: checkedAt, last_auth_at: checkedAt }),
      ...(settings.credential && { credential: settings.credential }),
      ...(settings.proxyId !== undefined && { proxy_id: settings.proxyId }),
      can_reauth: can,
      can_reauth_reason: reason,
      allowed_domains: settings.allowedDomains,
      ...(settings.loginUrl !== undefined && { login_url: settings.loginUrl }),
      ...(record.postLoginUrl !== undefined && { post_login_url: record.postLoginUrl }),
      health_checks: settings.healthChecks,
      auto_reauth: settings.autoReauth,
      health_check_interval: settings.healthCheckInterval,
      browser_telemetry: null,
      ...flowAnswer({ record, flow }, host),
    };
  }
}

/** The latest login as the connection shows it: null where there is nothing. */
function flowAnswer({ record, flow }: Connection, host: string): Partial<AuthConnection> {
  const state = flow?.state ?? record.flow;
  const isRunning = state?.status === 'IN_PROGRESS';
  const prompt = flow?.state.prompt;
  return {
    flow_status: state?.status ?? null,
    flow_step: state?.step ?? null,
    flow_type: state?.type ?? null,
    flow_expires_at: isRunning ? new Date(state.expiresAt).toISOString() : null,
    fields: null,
    choices: null,
    discovered_fields: null,
    mfa_options: null,
    sign_in_options: null,
    pending_sso_buttons: null,
    ...(prompt && tellPrompt(prompt)),
    external_action_message: flow?.state.externalActionMessage ?? null,
    website_error: state?.websiteError ?? null,
    sso_provider: state?.ssoProvider ?? null,
    error_message: state?.errorMessage ?? null,
    error_code: state?.errorCode ?? null,
    hosted_url: flow && isRunning ? hostedUrl(flow.token, host) : null,
    live_view_url: flow?.session && isRunning ? liveViewUrl(flow.session, host) : null,
    browser_session_id: (isRunning && flow?.session?.id) || null,
  };
}

function timelineItem({ id, type, at, details }: TimelineEntry): TimelineItem {
  return { id, type, timestamp: new Date(at).toISOString(), ...details };
}

/** Throws `bad_request` for what the service does not offer. */
function refuseTelemetry({ browser_telemetry: telemetry }: AuthConnectionUpdate): void {
  if (asksForTelemetry(telemetry)) throw invalidField('browser_telemetry', 'this service does not support it: leave it out');
}
