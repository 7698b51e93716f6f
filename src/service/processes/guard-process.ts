import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { builtFile } from '../process/children/built-file.ts';
import { passedToNode } from '../process/children/passed-on.ts';
import type { Guarded, GuardMessage } from './guard.ts';

/** The time between the end of a guard and the start of the next, in ms. */
const restartMs = 1000;

/**
 * Starts and feeds the guard: a process that kills the programs of sessions if the service is killed. Starts it on first
 * use, because it takes 46 MB.
 */
export class GuardProcess {
  readonly #watched = new Map<string, Guarded>();
  #child: ChildProcess | undefined;
  #isClosed = false;

  /** Call it before the first program with this mark starts. */
  watch(guarded: Guarded): void {
    this.#watched.set(guarded.mark, guarded);
    if (this.#child) this.#tell({ watch: guarded });
    else this.#start();
  }

  /** Call it when all programs with this mark have ended. */
  forget(mark: string): void {
    this.#watched.delete(mark);
    this.#tell({ forget: mark });
  }

  /** Ends the guard, which first kills the programs that still run. Start no program after that. */
  close(): void {
    this.#isClosed = true;
    this.#child?.stdin?.end();
  }

  #restart(): void {
    if (!this.#isClosed && !this.#child && this.#watched.size > 0) this.#start();
  }

  #start(): void {
    const child = spawn(process.execPath, [builtFile('processes/guard.js')], {
      env: passedToNode(process.env),
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.unref();
    (child.stdin as Socket).unref();
    child.stdin.on('error', () => {});
    child.once('exit', () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      setTimeout(() => this.#restart(), restartMs).unref();
    });
    child.on('error', (error) => {
      if (child.pid === undefined)
        console.error(
          "the process that ends the sessions' programs if the service is killed could not be started:",
          error,
        );
    });
    this.#child = child;
    for (const guarded of this.#watched.values()) this.#tell({ watch: guarded });
  }

  /** The pipe takes a line immediately, so the guard gets it even if the service is killed right afterwards. */
  #tell(message: GuardMessage): void {
    this.#child?.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}
