import { unsupportedFields, limitReached, OperationError } from '../../contract/errors.ts';
import type { ProcessExec, ProcessResult, ProcessSpawn } from '../../contract/processes.ts';
import type { Clock } from '../process/clock.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';
import type { JsonText } from '../http/handler.ts';
import { killMarked, LaterKills } from '../process/children/marked-processes.ts';
import { killProcessesOf } from '../process/children/system-users.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { FairTurns } from '../process/fair-turns.ts';
import { GuardProcess } from './guard-process.ts';
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
/** The most processes and threads of a session's user, counted when one of its programs starts another. */
const mostTasks = 2048;
/** How long, in ms, a program may take to end after SIGTERM. */
const graceMs = 2000;

/** A place for one more running program in a session. */
export type Place = {
  /** Marks the program's processes by an environment variable. */
  readonly mark: string;
  /** Aborts when the session or its lease ends. */
  readonly hold: AbortSignal;
  /** Call when the program has started. */
  started(program: Running): void;
  /** Frees the place. */
  leave(): void;
};

/** The programs of one lease of a session. */
type Held = {
  mark: string;
  count: number;
  running: Set<{ kill(): void }>;
  byId: Map<string, SessionProcess>;
};

/** Starts callers' programs in sessions. Ends them when the session ends or goes to another caller. */
export class Processes {
  readonly #scope: string;
  readonly #clock: Clock;
  readonly #guard = new GuardProcess();
  readonly #directory: string;
  readonly #turns = new FairTurns();
  readonly #laterKills = new LaterKills();
  readonly #held = new WeakMap<AbortSignal, Held>();
  #count = 0;
  #limits: Promise<readonly string[]> | undefined;

  /**
   * `scope` begins the marks of all programs. It is the same for all services of a data directory. Long output waits in
   * files in `directory`.
   */
  constructor({ scope, directory, clock }: { scope: string; directory: string; clock: Clock }) {
    this.#scope = scope;
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
    const { hold } = session;
    const started = performance.now();
    const program = await this.#start(session, command, { hasInput: false });
    const stop = this.#endAfter(program, command.timeout_sec);
    const end = () => {
      program.signal('KILL');
      this.#laterKills.add(program.mark);
    };
    signal.addEventListener('abort', end);
    try {
      if (signal.aborted) end();
      const output = await collectOutput(program, { waiting, end, directory: this.#directory });
      const exit_code = await program.exited;
      hold.throwIfAborted();
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
    const { hold } = session;
    const { byId } = this.#of(session);
    const program = await this.#start(session, command, {
      hasInput: true,
      ...(command.allocate_tty && { size: sizeOf(command) }),
    });
    const started = new SessionProcess(program, this.#clock.now(), session.claimBytes());
    if (hold.aborted) started.forget();
    byId.set(started.id, started);
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
  get({ hold }: LocalSession, id: string): SessionProcess {
    const found = this.#held.get(hold)?.byId.get(id);
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
    const mark = `${held.mark}${(held.count += 1)}/`;
    let program: Running | undefined;
    const taken = { kill: () => program?.signal('KILL') };
    running.add(taken);
    const leave = () => void running.delete(taken);
    const { hold } = session;
    return {
      mark,
      hold,
      leave,
      started: (started) => {
        program = started;
        if (hold.aborted) started.kill();
        this.#guard.watch({ mark, group: started.pid });
        const forget = () => {
          leave();
          this.#guard.forget(mark);
        };
        void started.exited.then(forget);
      },
    };
  }

  /** Call it after the sessions have ended. */
  close(): void {
    this.#guard.close();
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
      const limits = await (this.#limits ??= limitsOf(environmentIn(session)));
      await this.#turns.next(session.settings.projectId);
      place.hold.throwIfAborted();
      const [starter = file, ...args] = [...(isolatedUser ? limits : []), file, ...command.args];
      const options = { file: starter, args, directory, environment, user: isolatedUser?.user, mark: place.mark };
      const program = await (size ? Terminal.start({ ...options, size }) : Program.start({ ...options, hasInput }));
      place.started(program);
      place.hold.throwIfAborted();
      return program;
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  #of(session: LocalSession): Held {
    const { hold, isolatedUser } = session;
    const known = this.#held.get(hold);
    if (known) return known;
    const mark = `${this.#scope}/process-${(this.#count += 1)}/`;
    const held: Held = { mark, count: 0, running: new Set(), byId: new Map() };
    this.#held.set(hold, held);
    this.#guard.watch({ mark, uid: isolatedUser?.user.uid });
    hold.addEventListener('abort', () => this.#end(session, held), { once: true });
    return held;
  }

  /** Ends everything that was started in a lease, before the session goes to the next one. */
  #end(session: LocalSession, { mark, running, byId }: Held): void {
    for (const program of running) program.kill();
    for (const process of byId.values()) process.forget();
    killMarked(mark);
    const { isolatedUser } = session;
    // Spare Chromium: all of its processes are in one Unix session, whose id is the pid of the first one.
    if (isolatedUser && !killProcessesOf(isolatedUser.user.uid, session.pid)) void session.discard();
    this.#guard.forget(mark);
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

/** The command line that limits the number of processes: `prlimit`. Empty if the machine doesn't have it. */
async function limitsOf(environment: Record<string, string>): Promise<readonly string[]> {
  const file = await firstExecutable(inPath('prlimit', environment));
  return file === undefined ? [] : [file, `--nproc=${mostTasks}`, '--core=0', '--'];
}
