import { OperationError } from '../../contract/errors.ts';
import type { Invocation, InvocationEvent, invocations as operations } from '../../contract/invocations.ts';
import { sinceMicroseconds } from '../../contract/since.ts';
import { appEvents } from '../apps/app-events.ts';
import type { Apps } from '../apps/apps.ts';
import type { InvocationRecord } from '../apps/invocations.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { Session } from '../browsers/session.ts';
import type { Clock } from '../clock.ts';
import { WithStatus, type HandlerTree } from '../http/handler.ts';
import type { InvocationStore } from '../store/invocations.ts';
import { browserAnswer } from './browser-answer.ts';

type Means = { apps: Apps; store: InvocationStore; sessions: HeldSessions; clock: Clock };

/** How long a call waits for its invocation, and so how long that may take, in seconds. */
const syncTimeoutSeconds = 100;

export function invocationHandlers({ apps, store, sessions, clock }: Means): HandlerTree<typeof operations> {
  const { deployments, invocations } = apps;
  return {
    async create({ body, caller, signal }) {
      const deployment = deployments.version(caller.projectId, body.app_name, body.version);
      const invocation = invocations.invoke(deployment, {
        actionName: body.action_name,
        payload: body.payload,
        timeoutSeconds: body.async ? body.async_timeout_seconds : syncTimeoutSeconds,
        createdBy: caller.apiKey.id,
      });
      const { id } = invocation;
      if (body.async) return new WithStatus(202, invocationAnswer(invocation));
      // Nobody would get the result, and many clients call again.
      const hungUp = { status: 'failed', statusReason: 'its caller hung up before it was done' } as const;
      const end = () => void invocations.end(id, hungUp).catch(() => {});
      if (signal.aborted) end();
      signal.addEventListener('abort', end);
      await invocations.ended(id);
      signal.removeEventListener('abort', end);
      const { payload: _, ...answer } = invocationAnswer(invocations.get(id, caller.projectId));
      return answer;
    },

    list({ query, caller }) {
      const since = query.since === undefined ? undefined : sinceMicroseconds(query.since, clock.now());
      const page = store.list({
        projectId: caller.projectId,
        limit: query.limit,
        offset: query.offset,
        appName: query.app_name,
        version: query.version,
        actionName: query.action_name,
        deploymentId: query.deployment_id,
        status: query.status,
        startedSince: since === undefined ? undefined : Math.ceil(since / 1000),
        query: query.query,
      });
      return { ...page, items: page.items.map(invocationAnswer) };
    },

    retrieve: ({ params, caller }) => invocationAnswer(invocations.get(params.id, caller.projectId)),

    async update({ params, body, caller }) {
      const { id } = invocations.get(params.id, caller.projectId);
      const statusReason = body.status === 'failed' ? 'it was cancelled' : 'it was set to succeeded before it had ended';
      const isEnded = await invocations.end(id, { status: body.status, output: body.output, statusReason });
      const invocation = invocations.get(id, caller.projectId);
      if (!isEnded) throw new OperationError('bad_request', `the invocation ${id} has ${invocation.status} already`);
      return invocationAnswer(invocation);
    },

    async deleteBrowsers({ params, caller }) {
      const { id } = invocations.get(params.id, caller.projectId);
      await Promise.all(browsersOf(sessions.in(caller.projectId), id).map((session) => session.end()));
    },

    listBrowsers({ params, caller, host }) {
      const { id } = invocations.get(params.id, caller.projectId);
      return { browsers: browsersOf(sessions.in(caller.projectId), id).map((session) => browserAnswer(session, host, clock)) };
    },

    follow({ params, query, caller, signal }): AsyncIterable<InvocationEvent> {
      const { id, deploymentId } = invocations.get(params.id, caller.projectId);
      return appEvents({
        logs: apps.logs,
        source: { deploymentId, invocationId: id },
        since: query.since,
        state: () => invocationState(invocations.get(id, caller.projectId)),
        clock,
        signal,
      });
    },
  };
}

/** The living sessions that were started with the id of an invocation. */
function browsersOf(sessions: { list(): Session[] }, invocationId: string): Session[] {
  return sessions.list().filter((session) => session.alive && session.invocationId === invocationId);
}

function invocationAnswer(record: InvocationRecord): Invocation {
  return {
    id: record.id,
    app_name: record.appName,
    version: record.version,
    action_name: record.actionName,
    ...(record.payload !== undefined && { payload: record.payload }),
    ...(record.output !== undefined && { output: record.output }),
    started_at: new Date(record.startedAt).toISOString(),
    finished_at: record.finishedAt === undefined ? null : new Date(record.finishedAt).toISOString(),
    status: record.status,
    ...(record.statusReason !== undefined && { status_reason: record.statusReason }),
  };
}

function invocationState(record: InvocationRecord) {
  const { status, statusReason } = record;
  const message = statusReason === undefined ? status : `${status}: ${statusReason}`;
  const state = { event: 'invocation_state' as const, message, invocation: invocationAnswer(record) };
  return { events: [state], isTerminal: status === 'succeeded' || status === 'failed' };
}
