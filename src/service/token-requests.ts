import type { TokenRequests } from './http/token-requests.ts';
import type { forwarding } from './machines/control-plane.ts';
import type { Parts } from './parts.ts';
import { local, localOnly } from './sessions/in-session.ts';

/**
 * Answers requests below a session's `base_url`. They have no API key, but the session's token in the query (`jwt`). If
 * the session runs on another machine, which this service controls, the request is forwarded to that machine.
 */
export function tokenRequests(
  { sessions, ownPort }: Parts,
  forwarded: ReturnType<typeof forwarding> | undefined,
): TokenRequests {
  return {
    find: (token) => {
      const session = sessions.byToken(token);
      return session && { id: session.id, projectId: session.settings.projectId };
    },
    raw: ({ id, projectId }, exchange) =>
      sessions.use(projectId, id, async (session) => {
        if (forwarded && !localOnly(session)) return await forwarded.raw(session, exchange);
        const { curlRaw } = await import('./curl/raw-endpoint.ts');
        await curlRaw(local(session), exchange, { ownPort: ownPort(), signal: exchange.signal });
      }),
  };
}
