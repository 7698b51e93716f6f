import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { loadExtensions } from '../../contract/extensions.ts';
import { actsInSession, type Operation } from '../../contract/operation.ts';
import { telemetry } from '../../contract/telemetry.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import type { ForwardedRequest } from '../http/app.ts';
import { rawPath } from '../http/token-requests.ts';
import type { Clock } from '../process/clock.ts';
import { writePrivateFile } from '../process/start/data-directory.ts';
import type { Log } from '../process/log.ts';
import { newId } from '../process/id.ts';
import type { ProfileDirectories } from '../profiles/profile-directories.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Session } from '../sessions/session.ts';
import type { ForwardedOperation } from './answer-limit.ts';
import { forwardRequest } from './forward-request.ts';
import { forwardedRoutes, type ForwardingOptions } from './forward-sockets.ts';
import { MachineSession } from './machine-session.ts';
import type { StoredArchives } from './launch.ts';
import type { Overflow } from './machine.ts';
import { Machines } from './machines.ts';
import { redirect } from './redirect.ts';
import { MachineSessionRecords } from './sessions-table.ts';

/** How a control plane finds its machines and logs in to them. */
export type MachinesSettings = {
  /** `dns://NAME:PORT`, or the machines' URLs. */
  from: string | readonly string[];
  /** The machines' API key. */
  apiKey: string;
  /** Whether callers get the machines' own URLs, so that their connections bypass the control plane. */
  directSessions?: boolean;
  overflow?: Overflow;
};

type Dependencies = {
  extensions: StoredArchives;
  directory: string;
  database: Database;
  secrets: Secrets;
  profiles: ProfileDirectories;
  clock: Clock;
  log: Log;
};

type Exchange = Pick<ForwardedRequest, 'incoming' | 'outgoing' | 'url'>;

const rawCurl: ForwardedOperation = { path: rawPath, body: undefined, responses: {} };
const dashboardRead: ForwardedOperation = { path: '/dashboard', body: undefined, responses: {} };

/** Connects a control plane to its machines, and takes over the sessions that already run on them. */
export async function openMachines(settings: MachinesSettings, dependencies: Dependencies): Promise<Machines> {
  const { directory, database, secrets, profiles, extensions, clock, log } = dependencies;
  const machines = new Machines({
    owner: await ownerIn(directory),
    apiKey: settings.apiKey,
    isDirect: settings.directSessions ?? false,
    overflow: settings.overflow && { ...settings.overflow, url: settings.overflow.url.replace(/\/+$/, '') },
    profiles,
    extensions,
    records: new MachineSessionRecords(database, secrets),
    clock,
    log,
  });
  // Adopt first: the first check of a machine ends the sessions that aren't adopted.
  machines.adopt();
  await machines.open([settings.from].flat());
  return machines;
}

/** Functions that pass requests and WebSockets of sessions on to the machines of these sessions. */
export function forwarding({ sessions, ...sockets }: { sessions: Sessions } & ForwardingOptions) {
  const pass = async (session: Session, exchange: Exchange, operation: ForwardedOperation) => {
    const far = onMachine(session);
    if (operation.path === loadExtensions.path) far.markChanged();
    await forwardRequest(far, exchange, { operation, clock: sockets.clock });
  };
  /** The machine keeps the telemetry of sessions that ended there. */
  const passEnded = async (session: Session, exchange: Exchange) => {
    if (session.endReason === 'machine_lost')
      throw new OperationError(
        'not_found',
        `the machine of the browser session ${session.id} was lost, and the events of the session with it`,
      );
    await pass(session, exchange, telemetry.events);
  };
  return {
    routes: forwardedRoutes(sockets),
    /** Passes a request on. Returns `undefined` for a request that the control plane answers itself. */
    forward(operation: Operation, { caller, params, ...exchange }: ForwardedRequest): Promise<void> | undefined {
      if (!actsInSession(operation)) return undefined;
      exchange.url = urlOf(operation, params, exchange);
      const ended = operation.path === telemetry.events.path && sessions.endedIn(caller.projectId, params['id'] ?? '');
      if (ended) return passEnded(ended, exchange);
      return sessions.use(caller.projectId, params['id'] ?? '', (session) => pass(session, exchange, operation));
    },
    /** Passes a request to `curl/raw` on. */
    async raw(session: Session, exchange: Exchange) {
      await forwardRequest(onMachine(session), exchange, { operation: rawCurl, clock: sockets.clock, isRaw: true });
    },
    redirect,
    /** Passes on a request of the dashboard that reads a session. */
    read: (session: Session, exchange: Exchange) => pass(session, exchange, dashboardRead),
  };
}

/** The session, whose browser must run on another machine. */
function onMachine(session: Session): MachineSession {
  if (session instanceof MachineSession) return session;
  throw new Error(`the browser session ${session.id} does not run on a machine of this control plane`);
}

/**
 * The path and query to ask a machine for. The path is that of the operation, with each parameter as one segment: the
 * caller's own path may lead elsewhere once dots or slashes in it are decoded. Throws `bad_request` for a parameter that no
 * URL can contain.
 */
function urlOf({ path: template }: Operation, params: Record<string, string>, { url, incoming }: Exchange): string {
  const { search } = new URL(url ?? incoming.url ?? '/', 'http://service');
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    if (/^\.{0,2}$/.test(value))
      throw new OperationError('bad_request', `${JSON.stringify(value)} can't be the ${name}`);
    return encodeURIComponent(value);
  });
  return path + search;
}

/** Reads the control plane's id from its data directory, or creates it. Sessions on machines carry the id in a tag. */
async function ownerIn(directory: string): Promise<string> {
  const file = path.join(directory, 'control-plane');
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== '') return stored.trim();
  const owner = newId();
  await writePrivateFile(file, `${owner}\n`);
  return owner;
}
