import { OperationError } from '../../contract/errors.ts';
import { invocation, type InvocationEvent, type invocations as operations } from '../../contract/invocations.ts';
import { sinceMicroseconds } from '../../contract/since.ts';
import { answerOf } from '../database/answer-of.ts';
import { appEvents } from './app-events.ts';
import type { Apps } from './apps.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../sessions/session.ts';
import type { Clock } from '../process/clock.ts';
import { WithStatus, type HandlerTree } from '../http/handler.ts';
import { type InvocationRecords, type InvocationRecord, invocationsTable } from './invocation-records.ts';
import { browserAnswer } from '../sessions/browser-answer.ts';

const invocationAnswer = answerOf(invocation, invocationsTable);

type Dependencies = { apps: Apps; invocations: InvocationRecords; sessions: Sessions; clock: Clock };

/** The timeout of an invocation whose caller waits for the result, in seconds. */
const syncTimeoutSeconds = 100;

/** Handles the operations that start, list, end and follow invocations: runs of an app's actions. */
export function invocationHandlers({
  apps,
  invocations: records,
  sessions,
  clock,
}: Dependencies): HandlerTree<typeof operations> {
  const { deployments, invocations } = apps;
  return {
    async create({ body, caller, signal }) {
      const app = deployments.version(caller.projectId, body.app_name, body.version);
      const invoked = invocations.invoke(app, {
        actionName: body.action_name,
        payload: body.payload === '' ? undefined : body.payload,
        timeoutSeconds: body.async ? body.async_timeout_seconds : syncTimeoutSeconds,
        createdBy: caller.apiKey.id,
      });
      const { id } = invoked;
      if (body.async) return new WithStatus(202, invocationAnswer(invoked));
      // Nobody would get the result, and many clients call again, which starts another invocation.
      const hungUp = { status: 'failed', statusReason: 'its caller closed the connection before it ended' } as const;
      const end = () => void invocations.end(id, hungUp).catch(() => {});
      if (signal.aborted) end();
      signal.addEventListener('abort', end);
      await invocations.ended(id);
      signal.removeEventListener('abort', end);
      const { payload: _, ...answer } = invocationAnswer(invocations.get(id, caller.projectId));
      return answer;
    },

    list({ query, caller: { projectId } }) {
      const { app_name: appName, action_name: actionName, deployment_id: deploymentId, since, ...rest } = query;
      const from = since === undefined ? undefined : sinceMicroseconds(since, clock.now());
      const startedAt = from === undefined ? undefined : { from: Math.ceil(from / 1000) };
      return records.list({ ...rest, projectId, appName, actionName, deploymentId, startedAt }, invocationAnswer);
    },

    retrieve: ({ params, caller }) => invocationAnswer(invocations.get(params.id, caller.projectId)),

    async update({ params, body, caller }) {
      const { id } = invocations.get(params.id, caller.projectId);
      const statusReason =
        body.status === 'failed' ? 'it was cancelled' : 'a caller set it to succeeded before it had ended';
      const isEnded = await invocations.end(id, { status: body.status, output: body.output, statusReason });
      const found = invocations.get(id, caller.projectId);
      if (!isEnded) throw new OperationError('bad_request', `the invocation ${id} has ${found.status} already`);
      return invocationAnswer(found);
    },

    async deleteBrowsers({ params, caller }) {
      const { id } = invocations.get(params.id, caller.projectId);
      await Promise.all(browsersOf(sessions.listIn(caller.projectId), id).map((session) => session.end()));
    },

    listBrowsers({ params, caller, origin }) {
      const { id } = invocations.get(params.id, caller.projectId);
      return {
        browsers: browsersOf(sessions.listIn(caller.projectId), id).map((session) =>
          browserAnswer(session, { origin, caller }, clock),
        ),
      };
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

/** The running sessions that were started with the id of an invocation. */
function browsersOf(sessions: Session[], invocationId: string): Session[] {
  return sessions.filter((session) => session.alive && session.invocationId === invocationId);
}

function invocationState(record: InvocationRecord) {
  const { status, statusReason } = record;
  const message = statusReason === undefined ? status : `${status}: ${statusReason}`;
  const state = { event: 'invocation_state' as const, message, invocation: invocationAnswer(record) };
  return { events: [state], isTerminal: status === 'succeeded' || status === 'failed' };
}
