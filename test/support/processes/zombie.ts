import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** An ended process whose parent never reaps it, so that it keeps its id. */
export class Zombie implements AsyncDisposable {
  readonly pid: number;
  readonly #parent: ChildProcess;

  private constructor(pid: number, parent: ChildProcess) {
    this.pid = pid;
    this.#parent = parent;
  }

  static async make(): Promise<Zombie> {
    // The shell becomes a program that knows no child. It ends with its stdin, so with this process, however this
    // process ends.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    // Wait until the shell is gone.
    while (!readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('cat')) await delay(5);
    process.kill(pid, 'SIGKILL');
    while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) await delay(5);
    return new Zombie(pid, parent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parent.kill();
    await once(this.#parent, 'close');
  }
}
