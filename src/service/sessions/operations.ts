import type { browsers, BrowserUpdate } from '../../contract/browsers.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { requestedCategories } from '../../contract/telemetry.ts';
import { launchedWith, requestedLaunch } from './launch.ts';
import type { Session } from './session.ts';
import {
  requestedProfile,
  requestedProxy,
  sessionSettings,
  withRefreshRate,
  type Surroundings,
} from './session-settings.ts';
import type { Clock } from '../process/clock.ts';
import { type HandlerTree, pageOf } from '../http/handler.ts';
import { browserAnswer, handOver } from './browser-answer.ts';
import type { Sessions } from './sessions.ts';

type BrowserOperations = Pick<typeof browsers, 'create' | 'list' | 'retrieve' | 'update' | 'handOver' | 'deleteByID'>;

/**
 * The handlers of the operations that start, find, change and end browser sessions. `refuseEndedInvocation` throws for an
 * invocation that has ended or belongs to another project.
 */
export function browserHandlers(
  {
    sessions,
    surroundingsOf,
    clock,
  }: { sessions: Sessions; surroundingsOf: (projectId: string) => Surroundings; clock: Clock },
  refuseEndedInvocation: (invocationId: string, projectId: string) => void,
): HandlerTree<BrowserOperations> {
  return {
    async create({ body, signal, origin, caller }) {
      if (body.invocation_id) refuseEnded(body.invocation_id, caller.projectId);
      const client = { engine: body.engine, playwright: body.playwright_version };
      const launch = await requestedLaunch(body.launch_options, sessions.launcher, client);
      const settings = launchedWith(sessionSettings(body, surroundingsOf(caller.projectId)), launch);
      const session = await sessions.createSingle(settings, body.name, signal);
      session.lease.tags = body.tags;
      await session.complete(launch, signal).catch(async (error: unknown) => {
        await session.discard();
        throw error;
      });
      if (body.invocation_id) await bind(session, body.invocation_id, caller.projectId);
      session.record();
      if (settings.startUrl) await session.openPage(settings.startUrl).catch(() => {});
      await handOver(session, signal, () => void session.discard());
      return browserAnswer(session, { origin, caller }, clock);
    },

    list({ query, origin, caller }) {
      const status = query.include_deleted ? 'all' : query.status;
      const found = sessions
        .listIn(caller.projectId)
        .filter(({ endedAt }) => status === 'all' || (status === 'deleted') === (endedAt !== undefined))
        .filter((session) => query.query === undefined || mentions(session, query.query))
        .filter(({ lease }) => Object.entries(query.tags ?? {}).every(([key, value]) => lease.tags?.[key] === value));
      const { items, ...page } = pageOf(found, query);
      return { items: items.map((session) => browserAnswer(session, { origin, caller }, clock)), ...page };
    },

    retrieve({ params, query, origin, caller }) {
      const ended = query.include_deleted && sessions.endedIn(caller.projectId, params.id_or_name);
      return browserAnswer(ended || sessions.findIn(caller.projectId, params.id_or_name), { origin, caller }, clock);
    },

    async update({ params, body, signal, origin, caller }) {
      const session = sessions.findIn(caller.projectId, params.id_or_name);
      await update(session, body, signal);
      return browserAnswer(session, { origin, caller }, clock);
    },

    async handOver({ params, body, origin, caller }) {
      const session = sessions.getIn(caller.projectId, params.id);
      const { name, tags, pastTags, startUrl, launch, pool, leasedAt } = session.lease;
      session.changeHands(body);
      Object.assign(session.lease, { name, tags, pastTags, startUrl, launch, pool, leasedAt });
      session.record();
      await session.confirm();
      return browserAnswer(session, { origin, caller }, clock);
    },

    async deleteByID({ params, caller }) {
      // If the caller repeats a call whose answer was lost, wait until the profile is saved.
      await sessions
        .endedIn(caller.projectId, params.id_or_name)
        ?.saved()
        .catch(() => {});
      const session = sessions.findIn(caller.projectId, params.id_or_name);
      await session.end();
      await session.saved();
    },
  };

  function refuseEnded(invocationId: string, projectId: string): void {
    try {
      refuseEndedInvocation(invocationId, projectId);
    } catch (error) {
      throw error instanceof OperationError ? invalidField('invocation_id', error.message) : error;
    }
  }

  /** Lets the session end with its invocation. Ends it now if the invocation has ended meanwhile. */
  async function bind(session: Session, invocationId: string, projectId: string): Promise<void> {
    session.invocationId = invocationId;
    try {
      refuseEnded(invocationId, projectId);
    } catch (error) {
      await session.discard();
      throw error;
    }
  }

  async function update(session: Session, body: BrowserUpdate, signal: AbortSignal): Promise<void> {
    const { name, tags, profile, viewport, telemetry, proxy_id } = body;
    const { engine } = session.settings;
    const client = { engine, playwright: body.playwright_version };
    const launch = await requestedLaunch(body.launch_options, sessions.launcher, client);
    const { projectId, proxy: proxyBefore } = session.settings;
    const isOtherProxy = proxy_id !== undefined && (proxy_id || undefined) !== proxyBefore?.id;
    const proxy = isOtherProxy ? requestedProxy(proxy_id, surroundingsOf(projectId).resolveProxy) : undefined;
    const loaded = profile && requestedProfile(profile, surroundingsOf(projectId).resolveProfile);
    sessions.refuseTakenName(projectId, name, session);

    const nameBefore = session.lease.name;
    if (name !== undefined) session.lease.name = name || undefined;
    try {
      const save = profile?.save_changes;
      const isDecided = loaded && save !== undefined && session.saveProfileAtEnd(loaded.id, save);
      const change = async (until: AbortSignal) => {
        if (loaded && !isDecided) await session.loadProfile(loaded, save ?? false, until);
        if (launch) await session.fit(launch, until);
        if (isOtherProxy) await session.changeProxy(proxy, until);
        if (viewport) await session.resize(withRefreshRate(viewport), viewport.force);
      };
      if ((loaded && !isDecided) || launch || isOtherProxy || viewport) await sessions.change(session, change, signal);
    } catch (error) {
      session.lease.name = nameBefore;
      throw error;
    }
    const categories = requestedCategories(telemetry, session.lease.telemetry);
    if (categories) await session.capture(categories);
    if (tags !== undefined) session.retag(tags ?? undefined);
    session.record();
  }
}

function mentions({ id, lease: { name, pool }, profile, settings }: Session, text: string): boolean {
  const lower = text.toLowerCase();
  return [id, name, pool?.name, profile?.id, profile?.name, settings.proxy?.id].some((field) =>
    field?.toLowerCase().includes(lower),
  );
}
