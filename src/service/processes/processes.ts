import { unsupportedFields, limitReached, OperationError } from '../../contract/errors.ts';
import type { ProcessExec, ProcessResult, ProcessSpawn } from '../../contract/processes.ts';
import type { Clock } from '../process/clock.ts';
import type { JsonText } from '../http/handler.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { FairTurns } from '../process/fair-turns.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { collectOutput, execAnswer } from './collect-output.ts';
import { Program } from './program.ts';
import type { Running, TerminalSize } from './running.ts';
import { SessionProcess } from './session-process.ts';
import { Terminal } from './terminal.ts';
import { directoryIn, environmentIn, home, programIn, refuseBeside } from './surroundings.ts';

/** The most programs that run at once in a session. */
const mostRunning = 32;
/** The most ended programs of a session whose output is kept. */
const mostEnded = 20;
/** How long, in ms, a program may take to end after SIGTERM. */
const graceMs = 2000;

/** A place for one more running program in a session. */
export type Place = {
  /** Makes the namespaces that the program has to itself. `undefined` if the session has none. */
  openNamespaces(): Promise<Namespaces | undefined>;
  /** Aborts when the session or its lease ends. */
  readonly ended: AbortSignal;
  /** Call when the program has started. */
  started(program: Running): void;
  /** Frees the place. */
  leave(): void;
};

/** The programs of one lease of a session. */
type Held = {
  running: Set<{ kill(): void }>;
  /** Those of running programs, and of ended ones that left processes behind. */
  namespaces: Set<Namespaces>;
  byId: Map<string, SessionProcess>;
};

/** Starts callers' programs in sessions. Ends them when the session ends or goes to another caller. */
export class Processes {
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #turns = new FairTurns();

  /** Long output waits in files in `directory`. */
  constructor({ directory, clock }: { directory: string; clock: Clock }) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /**
   * Runs a program until it ends. Throws `process_timed_out`, `payload_too_large` for too much output, `rate_limited`,
   * `not_found` if the session ends, and `bad_request` if the program can't be started. `waiting` counts the output.
   */
  async exec(
    session: LocalSession,
    command: ProcessExec,
    { signal, waiting }: { signal: AbortSignal; waiting: Claim },
  ): Promise<ProcessResult | JsonText> {
    const { lease } = session;
    const started = performance.now();
    const program = await this.#start(session, command, { hasInput: false });
    const stop = this.#endAfter(program, command.timeout_sec);
    const end = () => program.kill();
    signal.addEventListener('abort', end);
    try {
      if (signal.aborted) end();
      const output = await collectOutput(program, { waiting, end, directory: this.#directory });
      const exit_code = await program.exited;
      lease.signal.throwIfAborted();
      if (stop.hasFired) {
        const message = `process timed out: ${command.command.slice(0, 200)} did not end within ${command.timeout_sec} s`;
        throw new OperationError('process_timed_out', message);
      }
      return execAnswer(output, { exit_code, duration_ms: Math.round(performance.now() - started) });
    } finally {
      stop.cancel();
      signal.removeEventListener('abort', end);
    }
  }

  /** Starts a program and doesn't wait for its end. Throws `rate_limited`, and `bad_request` if it can't be started. */
  async spawn(session: LocalSession, command: ProcessSpawn): Promise<SessionProcess> {
    const { lease } = session;
    const { byId } = this.#of(session);
    const program = await this.#start(session, command, {
      hasInput: true,
      ...(command.allocate_tty && { size: sizeOf(command) }),
    });
    const started = new SessionProcess(program, this.#clock.now(), session.claimBytes());
    if (lease.signal.aborted) started.forget();
    byId.set(started.id, started);
    await program.ready;
    const { cancel } = this.#endAfter(program, command.timeout_sec);
    const forgetOthers = () => {
      cancel();
      const ended = [...byId.values()].filter(({ hasExited }) => hasExited);
      for (const process of ended.slice(0, -mostEnded)) {
        byId.delete(process.id);
        process.forget();
      }
    };
    void started.ended.then(forgetOthers);
    return started;
  }

  /** A program that `spawn` started in the current lease. Throws `not_found`. */
  get(session: LocalSession, id: string): SessionProcess {
    const found = this.#of(session).byId.get(id);
    if (found) return found;
    throw new OperationError(
      'not_found',
      `there is no process ${id} in this session: only the last ${mostEnded} ended processes are kept`,
    );
  }

  /** Reserves a place for one more program, which is freed when the program ends. Throws `rate_limited`. */
  take(session: LocalSession): Place {
    const held = this.#of(session);
    const { running } = held;
    if (running.size >= mostRunning) {
      const message = `the browser session ${session.id} runs ${mostRunning} processes already: end one first`;
      throw limitReached(message, mostRunning, running.size);
    }
    // Nothing ends processes that leave their group, so that no other lease may get the browser.
    if (!session.namespaces) session.isChanged = true;
    let program: Running | undefined;
    const taken = { kill: () => program?.kill() };
    running.add(taken);
    const leave = () => void running.delete(taken);
    const { lease } = session;
    return {
      ended: lease.signal,
      leave,
      openNamespaces: () => openNamespaces(session, held.namespaces),
      started: (started) => {
        program = started;
        if (lease.signal.aborted) started.kill();
        void started.exited.then(leave);
      },
    };
  }

  async #start(
    session: LocalSession,
    command: ProcessExec,
    { hasInput, size }: { hasInput: boolean; size?: Partial<TerminalSize> },
  ): Promise<Running> {
    refuseOtherUsers(command);
    refuseBeside(session);
    const { isolatedUser } = session;
    const place = this.take(session);
    try {
      const environment = environmentIn(session, command.env);
      const directory = await directoryIn(session, command.cwd ?? home);
      const file = await programIn(session, command.command, { directory, environment });
      const start = async () => {
        place.ended.throwIfAborted();
        const namespaces = await place.openNamespaces();
        const options = { file, args: command.args, directory, environment, user: isolatedUser?.user, namespaces };
        return await (size ? Terminal.start({ ...options, size }) : Program.start({ ...options, hasInput }));
      };
      const program = await this.#turns.take(session.settings.projectId, start);
      place.started(program);
      place.ended.throwIfAborted();
      return program;
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  #of(session: LocalSession): Held {
    return session.lease.part(this, () => {
      const held: Held = { running: new Set(), namespaces: new Set(), byId: new Map() };
      session.lease.signal.addEventListener('abort', () => end(held), { once: true });
      return held;
    });
  }

  /** Ends a program after `seconds`: first with SIGTERM, 2 s later with SIGKILL. */
  #endAfter(program: Running, seconds: number | null | undefined): { hasFired: boolean; cancel: () => void } {
    const stop = { hasFired: false, cancel: () => {} };
    if (!seconds || seconds < 0) return stop;
    stop.cancel = this.#clock.after(seconds * 1000, () => {
      stop.hasFired = true;
      program.killRestAtEnd();
      program.signal('TERM');
      stop.cancel = this.#clock.after(graceMs, () => program.kill());
    });
    return stop;
  }
}

function sizeOf({ rows, cols }: ProcessSpawn): Partial<TerminalSize> {
  return { ...(rows !== undefined && { rows }), ...(cols !== undefined && { cols }) };
}

function refuseOtherUsers({ as_root, as_user }: ProcessExec): void {
  const fields = [...(as_root ? ['as_root'] : []), ...(as_user ? ['as_user'] : [])];
  if (fields.length > 0)
    throw unsupportedFields(
      fields,
      'programs run as the user of their session, so that they cannot reach other sessions',
    );
}

/** Ends everything that was started in a lease, before the session goes to the next one. */
function end({ running, namespaces, byId }: Held): void {
  for (const program of running) program.kill();
  for (const process of byId.values()) process.forget();
  for (const one of namespaces) one.close();
}

async function openNamespaces(session: LocalSession, all: Set<Namespaces>): Promise<Namespaces | undefined> {
  const { lease } = session;
  const opened = await session.traces.openNamespaces();
  if (!opened) return undefined;
  all.add(opened);
  void opened.ended.then(() => all.delete(opened));
  if (lease.signal.aborted) opened.close();
  return opened;
}
