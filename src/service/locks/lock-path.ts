import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { invalidField, limitReached, OperationError } from '../../contract/errors.ts';
import type { Answered } from '../audit/auditor.ts';
import { refuseUnknown } from '../connect/connect-query.ts';
import { Exchange } from '../connect/exchange.ts';
import { errorHeaders, toOperationError } from '../http/answers/error-answer.ts';
import type { Callers } from '../http/app.ts';
import type { SocketPath, SocketRequest } from '../http/socket-route.ts';
import { pingRegularly, WebSocketServer, type WebSocket } from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import type { Claimant, Locks } from './locks.ts';

export type LockPathOptions = {
  locks: Locks;
  callers: Callers;
  auditor: { begin(request: IncomingMessage): (answered: Answered) => void };
  clock: Clock;
};

/**
 * A client that leaves two pings without an answer is gone. Its names are kept for another 2 s. So a machine that
 * vanishes, or a process that is stopped, loses its locks after at most 8 s.
 */
const pings = { intervalMs: 2000, mostMissed: 2 };
/** The code of a connection that ended without a closing handshake. */
const broken = 1006;
const parameters: ReadonlySet<string> = new Set(['name', 'holder', 'held', 'project', 'token']);
const recorded: ReadonlySet<string> = new Set(['name', 'holder']);
const mostNames = 20;
const longestName = 200;
const mostClaimants = 2000;

/** Locks for WebSockets. A client waits for its names, is told that it holds them, and holds them until its socket closes. */
export class LockPath implements SocketPath {
  readonly #options: LockPathOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: 1024,
  });
  readonly #sockets = new Set<Duplex>();

  constructor(options: LockPathOptions) {
    this.#options = options;
  }

  upgrade(asked: SocketRequest): void {
    const { request, socket, head, search } = asked;
    const { auditor, callers, locks } = this.#options;
    const exchange = new Exchange(socket, { path: '/locks', names: recorded, record: auditor.begin(request) });
    try {
      const { projectId } = exchange.identify(callers, asked);
      const { held, ...wanted } = readQuery(search);
      if (locks.count(projectId) >= mostClaimants)
        throw limitReached('too many clients ask for locks in this project', mostClaimants, locks.count(projectId));
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      this.#server.handleUpgrade(request, socket, head, (client) => {
        exchange.accepted();
        this.#serve(client, { projectId, wanted, held, isAllowed: () => isUsable(exchange, callers, asked) });
      });
    } catch (error) {
      const known = toOperationError(error);
      if (known.code === 'internal_error') console.error('a client of /locks failed:', error);
      exchange.refuse(known.status, known.code, known.message, errorHeaders(known));
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(
    client: WebSocket,
    options: {
      projectId: string;
      wanted: Pick<Claimant, 'names' | 'holder'>;
      held: string | undefined;
      isAllowed: () => boolean;
    },
  ): void {
    const { locks, clock } = this.#options;
    const { projectId, wanted, held, isAllowed } = options;
    const send = (message: object) => client.send(JSON.stringify(message));
    let isDecided = false;
    const claimant: Claimant = {
      ...wanted,
      onHeld: (token) => {
        isDecided = true;
        send({ type: 'held', token });
      },
      onLost: (holder) => {
        isDecided = true;
        send({ type: 'lost', holder });
        client.close();
      },
      onReplaced: () => client.terminate(),
    };
    client.on('error', () => client.terminate());
    const end = locks.claim(projectId, claimant, held);
    client.once('close', (code) => end(code === broken));
    const tell = () => {
      if (!isDecided) send({ type: 'waiting', ...locks.position(projectId, claimant) });
    };
    tell();
    // A client that waits long wants to say for whom.
    const answered = () => (isAllowed() ? tell() : client.close(1008, 'the API key was revoked'));
    pingRegularly(client, clock, answered, pings);
  }
}

/** Whether the client's key still belongs to the project. */
function isUsable(exchange: Exchange, callers: Callers, asked: SocketRequest): boolean {
  try {
    exchange.identify(callers, asked);
    return true;
  } catch {
    return false;
  }
}

function readQuery(search: URLSearchParams): { names: string[]; holder: string; held: string | undefined } {
  refuseUnknown(search, parameters);
  const names = [...new Set(search.getAll('name'))];
  if (names.length === 0)
    throw new OperationError('bad_request', 'the URL names no lock: add name=NAME, once for each lock');
  if (names.length > mostNames || names.some((name) => name === '' || name.length > longestName))
    throw invalidField('name', `must be 1 to ${mostNames} names of 1 to ${longestName} characters`);
  return { names, holder: (search.get('holder') ?? '').slice(0, longestName), held: search.get('held') ?? undefined };
}
