import type { browsers } from '../../contract/browsers.ts';
import type { Handler } from '../http/handler.ts';
import type { SocketPath } from '../http/socket-route.ts';
import type { Clock } from '../process/clock.ts';
import { endsLease } from '../sessions/lease.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { attachmentLines, endWith } from './exchange.ts';
import type { Relay } from './connect-path.ts';

/** How long a redirected client may take to connect, in ms. */
const arrivalMs = 15_000;

type Awaited = { lines: string[]; arrived: () => void };

/** The clients that a control plane redirects to this machine. Their sessions end with them, without the control plane. */
export class AwaitedClients {
  readonly #sessions: Sessions;
  readonly #clock: Clock;

  constructor({ sessions, clock }: { sessions: Sessions; clock: Clock }) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  readonly await: Handler<typeof browsers.awaitClient> = ({ caller, params, body }) => {
    const session = this.#sessions.getIn(caller.projectId, params.id);
    const { lease } = session;
    lease.part<Awaited>(this, () => {
      const arrived = this.#clock.after(arrivalMs, () => {
        if (session.lease === lease) left(session);
      });
      return { lines: attachmentLines(body.attachments), arrived };
    });
  };

  /** The same WebSockets. Those of redirected clients end their session. */
  path(route: SocketPath & Relay): SocketPath {
    return {
      upgrade: (asked) => {
        const token = asked.search.get('jwt') ?? '';
        const session = asked.search.has(endsLease) ? this.#sessions.byToken(token) : undefined;
        if (!session?.lease.has(this)) return route.upgrade(asked);
        const { lines, arrived } = session.lease.part<Awaited>(this, () => ({ lines: [], arrived: () => {} }));
        arrived();
        endWith(asked.socket, session, () => left(session));
        route.join(token, asked, () => lines);
      },
      close: () => route.close(),
    };
  }
}

function left(session: Session): void {
  if (session.alive) session.endReason = 'client_left';
  void session.end();
}
