import type { browsers, BrowserUpdate } from '../../contract/browsers.ts';
import type { Session } from '../browsers/session.ts';
import { invalidField, refuseUnsupported, requestedProfile, sessionSettings, type Surroundings } from '../browsers/session-settings.ts';
import type { Clock } from '../clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import { browserAnswer } from './browser-answer.ts';
import { handOver } from './hand-over.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import { pageOf } from './page.ts';

type BrowserOperations = Omit<typeof browsers, 'fs' | 'computer' | 'replays'>;

export function browserHandlers({
  sessions,
  surroundings,
  clock,
}: {
  sessions: HeldSessions;
  surroundings: Surroundings;
  clock: Clock;
}): HandlerTree<BrowserOperations> {
  return {
    async create({ body, signal, host }) {
      if (body.invocation_id) throw invalidField('invocation_id', 'not supported by this service');
      const settings = sessionSettings(body, surroundings);
      const session = await sessions.create(settings, body.name, signal);
      session.tags = body.tags;
      if (settings.startUrl) await session.openPage(settings.startUrl).catch(() => {});
      await handOver(signal, () => void session.discard());
      return browserAnswer(session, host, clock);
    },

    list({ query, host }) {
      const status = query.include_deleted ? 'all' : query.status;
      const found = sessions
        .list()
        .filter(({ endedAt }) => status === 'all' || (status === 'deleted') === (endedAt !== undefined))
        .filter((session) => query.query === undefined || mentions(session, query.query))
        .filter(({ tags }) => Object.entries(query.tags ?? {}).every(([key, value]) => tags?.[key] === value));
      const { items, ...page } = pageOf(found, query);
      return { items: items.map((session) => browserAnswer(session, host, clock)), ...page };
    },

    retrieve({ params, query, host }) {
      const ended = query.include_deleted && sessions.list().find(({ id, endedAt }) => id === params.id_or_name && endedAt !== undefined);
      return browserAnswer(ended || sessions.find(params.id_or_name), host, clock);
    },

    async update({ params, body, signal, host }) {
      const session = sessions.find(params.id_or_name);
      await update(session, body, signal);
      return browserAnswer(session, host, clock);
    },

    async deleteByID({ params }) {
      const session = sessions.find(params.id_or_name);
      await session.end();
      await session.saved();
    },
  };

  async function update(session: Session, body: BrowserUpdate, signal: AbortSignal): Promise<void> {
    const { name, tags, profile, viewport, telemetry, proxy_id } = body;
    refuseUnsupported({ telemetry, proxy_id: proxy_id ?? undefined });
    if (viewport) throw invalidField('viewport', 'this service cannot change it while the browser runs');
    const loaded = profile && requestedProfile(profile, surroundings.resolveProfile);
    sessions.refuseTakenName(name ?? undefined, session);

    const nameBefore = session.name;
    if (name !== undefined) session.name = name || undefined;
    try {
      if (loaded) await sessions.loadProfile(session, loaded, profile.save_changes ?? false, signal);
    } catch (error) {
      session.name = nameBefore;
      throw error;
    }
    if (tags !== undefined) session.tags = tags ?? undefined;
  }
}

function mentions({ id, name, pool, profile }: Session, text: string): boolean {
  const lower = text.toLowerCase();
  return [id, name, pool?.name, profile?.id, profile?.name].some((field) => field?.toLowerCase().includes(lower));
}
