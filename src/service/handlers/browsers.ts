import type { Browser, browsers, BrowserUpdate } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Session } from '../browsers/session.ts';
import { invalidField, refuseUnsupported, requestedProfile, sessionSettings, type Surroundings } from '../browsers/session-settings.ts';
import type { Clock } from '../clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { ProfileStore } from '../store/profiles.ts';
import { browserAnswer } from './browser-answer.ts';
import { handOver } from './hand-over.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import { pageOf } from './page.ts';

type BrowserOperations = Omit<typeof browsers, 'fs' | 'computer' | 'replays'>;

export function browserHandlers({
  sessions,
  profiles,
  surroundings,
  clock,
}: {
  sessions: HeldSessions;
  profiles: ProfileStore;
  surroundings: Surroundings;
  clock: Clock;
}): HandlerTree<BrowserOperations> {
  return {
    async create({ body, signal, host }) {
      if (body.invocation_id) throw invalidField('invocation_id', 'not supported by this service');
      if (body.profile?.save_changes) throw invalidField('profile.save_changes', 'this service keeps no changes of profiles');
      const settings = sessionSettings(body, surroundings);
      const session = await sessions.create(settings, body.name, signal);
      session.tags = body.tags;
      if (settings.profile) profiles.used(settings.profile.id);
      if (settings.startUrl) await session.openPage(settings.startUrl).catch(() => {});
      await handOver(signal, () => void session.end());
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

    update({ params, body, host }): Browser {
      const session = sessions.find(params.id_or_name);
      update(session, body);
      return browserAnswer(session, host, clock);
    },

    deleteByID: ({ params }) => sessions.find(params.id_or_name).end(),
  };

  function update(session: Session, { name, tags, profile, viewport, telemetry, proxy_id }: BrowserUpdate): void {
    refuseUnsupported({ telemetry, proxy_id: proxy_id ?? undefined });
    if (viewport) throw invalidField('viewport', 'this service cannot change it while the browser runs');
    if (profile?.save_changes) throw invalidField('profile.save_changes', 'this service keeps no changes of profiles');
    if (profile && session.settings.profile) throw new OperationError('conflict', 'the browser session has a profile already');
    const loaded = profile && requestedProfile(profile, surroundings.resolveProfile);
    sessions.refuseTakenName(name ?? undefined, session);

    if (name !== undefined) session.name = name || undefined;
    if (tags !== undefined) session.tags = tags ?? undefined;
    if (loaded) {
      session.settings.profile = loaded;
      profiles.used(loaded.id);
    }
  }
}

function mentions({ id, name, pool, settings: { profile } }: Session, text: string): boolean {
  const lower = text.toLowerCase();
  return [id, name, pool?.name, profile?.id, profile?.name].some((field) => field?.toLowerCase().includes(lower));
}
