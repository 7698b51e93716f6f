import type {
  AuthConnection,
  AuthConnectionUpdate,
  authConnections as operations,
  TimelineItem,
} from '../../contract/auth-connections.ts';
import { unsupportedFields, OperationError } from '../../contract/errors.ts';
import { contains } from '../database/table.ts';
import type { ConnectionRecords, TimelineEntry } from './connections-table.ts';
import type { AuthConnections, Connection } from './connections.ts';
import { flowEvents, hostedUrl, type Links, flowFields } from './flow/flow-events.ts';
import { liveViewUrl } from '../sessions/browser-answer.ts';
import { asksForTelemetry } from '../sessions/session-settings.ts';
import type { Clock } from '../process/clock.ts';
import { type Caller, WithStatus, type HandlerTree } from '../http/handler.ts';

type Dependencies = { connections: AuthConnections; connectionRecords: ConnectionRecords; clock: Clock };

/** Handles the operations on auth connections: manage them, start and follow logins, and answer a site's questions. */
export function authConnectionHandlers({
  connections,
  connectionRecords: records,
  clock,
}: Dependencies): HandlerTree<typeof operations> {
  return {
    create({ body, caller, origin }) {
      refuseTelemetry(body);
      return answer(connections.create(caller, body), links(origin, caller));
    },

    list({ query, caller, origin }) {
      const { profile_name: profileName, domain, ...options } = query;
      const search = [contains('id'), contains('domain'), contains('profile_name')].join(' OR ');
      const page = records.rows.page(
        { projectId: caller.projectId, profileName, domain },
        { ...options, search, order: 'created_at DESC, rowid DESC' },
        ({ id }) => id,
      );
      // Leave out connections that are being deleted: `find` hides them, but their records stay until their logins end.
      const found = page.items.flatMap((id) => connections.find(caller.projectId, id) ?? []);
      return { ...page, items: found.map((connection) => answer(connection, links(origin, caller))) };
    },

    retrieve: ({ params, caller, origin }) =>
      answer(connections.get(caller.projectId, params.id), links(origin, caller)),

    update({ params, body, caller, origin }) {
      refuseTelemetry(body);
      return answer(connections.update(caller, params.id, body), links(origin, caller));
    },

    delete: ({ params, caller }) => connections.delete(caller.projectId, params.id),

    login({ params, body, caller, origin }) {
      refuseTelemetry(body);
      const { id } = connections.get(caller.projectId, params.id).record;
      const { token, state, session } = connections.login(caller.projectId, id, body);
      const handoff = { connectionId: id, projectId: caller.projectId, apiKeyId: caller.apiKey.id, flowId: state.id };
      return {
        id,
        flow_type: state.type,
        hosted_url: hostedUrl(token, links(origin, caller)),
        flow_expires_at: new Date(state.expiresAt).toISOString(),
        handoff_code: connections.handoffs.issue(handoff, state.expiresAt),
        live_view_url: session && liveViewUrl(session.browser, links(origin, caller)),
      };
    },

    exchange({ params, body }) {
      if (!connections.exists(params.id))
        throw new OperationError('not_found', `there is no auth connection ${params.id}`);
      const { handoff, token } = connections.handoffs.exchange(params.id, body.code);
      return { invocation_id: handoff.flowId, jwt: token };
    },

    submit({ params, body, caller }) {
      connections.submit(caller.projectId, params.id, body);
      return new WithStatus(202, { accepted: true as const });
    },

    follow({ params, caller, origin, signal }) {
      const { id } = connections.get(caller.projectId, params.id).record;
      return flowEvents(connections.logins.follow(id, signal), links(origin, caller));
    },

    timeline({ params, query, caller }) {
      const { id: connectionId } = connections.get(caller.projectId, params.id).record;
      const { type, ...page } = query;
      return records.events.page({ connectionId, type }, { ...page, order: 'rowid DESC' }, timelineItem);
    },
  };

  function links(origin: string, { apiKey }: Caller): Links {
    return { origin, apiKeyId: apiKey.id, clock };
  }

  function answer({ record, flow }: Connection, own: Links): AuthConnection {
    const { settings } = record;
    const state = flow?.state ?? record.flow;
    const isRunning = state?.status === 'IN_PROGRESS';
    const { can, reason } = connections.logins.canReauth(record);
    const checkedAt = record.checkedAt === undefined ? undefined : new Date(record.checkedAt).toISOString();
    return {
      id: record.id,
      profile_name: record.profileName,
      domain: record.domain,
      status: record.status,
      save_credentials: settings.saveCredentials,
      record_session: settings.recordSession,
      last_auth_check_at: checkedAt,
      last_auth_at: checkedAt,
      credential: settings.credential,
      proxy_id: settings.proxyId,
      can_reauth: can,
      can_reauth_reason: reason,
      allowed_domains: settings.allowedDomains,
      login_url: settings.loginUrl,
      post_login_url: record.postLoginUrl,
      health_checks: settings.healthChecks,
      auto_reauth: settings.autoReauth,
      health_check_interval: settings.healthCheckInterval,
      browser_telemetry: null,
      ...flowFields(state, flow, own),
      flow_expires_at: isRunning ? new Date(state.expiresAt).toISOString() : null,
      sso_provider: state?.ssoProvider ?? null,
      browser_session_id: (isRunning && flow?.session?.id) || null,
    };
  }
}

function timelineItem({ id, type, at, details }: TimelineEntry): TimelineItem {
  return { id, type, timestamp: new Date(at).toISOString(), ...details };
}

/** Throws `not_implemented` if the request asks for telemetry. */
function refuseTelemetry({ browser_telemetry: telemetry }: AuthConnectionUpdate): void {
  if (asksForTelemetry(telemetry)) throw unsupportedFields(['browser_telemetry'], 'leave it out');
}
