import { spawn, type ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import { passedOn } from '../passed-on.ts';
import { killGroup } from '../process-group.ts';
import { CdpConnection } from './cdp-connection.ts';
import type { Environment } from './find-chromium.ts';
import type { ProxyAccess } from './proxy-connection.ts';
import { ProxyHop } from './proxy-hop.ts';
import { chromiumSwitches } from './switches.ts';

/** Where Chromium is, instead of looking for one, and whether it runs in its sandbox; an option of the service. */
export type ChromiumSettings = { executable?: string; sandbox?: boolean };

/** A running Chromium. */
export type Chromium = {
  /** Where CDP clients connect; on this machine only. */
  wsEndpoint: string;
  /** The leader of Chromium's process group; on Linux often a script around Chromium proper. */
  pid: number;
  /** The service's own connection. */
  cdp: CdpConnection;
  /** Resolves when the process is gone, with its exit code if it ended by itself; never rejects. */
  exited: Promise<number | undefined>;
  /** Lets Chromium write what it holds in memory and end, or kills it when that takes longer, and waits until it is gone. */
  close(timeoutMs: number): Promise<void>;
  /** Kills all of Chromium's processes and waits until Chromium is gone. */
  kill(): Promise<void>;
};

export type LaunchOptions = {
  executable: string;
  userDataDirectory: string;
  headless: boolean;
  /** Default: wherever it can be, that is not for the superuser. */
  sandbox?: boolean | undefined;
  viewport: { width: number; height: number };
  /** Through which it reaches what is not on this machine. */
  proxy?: ProxyAccess | undefined;
  environment: Environment;
  /** How far it steps back where processors are short, as `nice` counts: 0, the default, is not at all. */
  niceness?: number;
  signal?: AbortSignal;
};

const launchTimeoutMs = 30_000;

/** Starts a Chromium without a page. Throws `unavailable` when it doesn't start, and the signal's reason. */
export async function launchChromium(options: LaunchOptions): Promise<Chromium> {
  const { executable, headless, viewport, signal } = options;
  signal?.throwIfAborted();
  const hop = options.proxy && (await ProxyHop.open(options.proxy));
  const switches = [
    ...chromiumSwitches({ headless, sandbox: options.sandbox ?? process.getuid?.() !== 0 }),
    `--window-size=${viewport.width},${viewport.height}`,
    `--user-data-dir=${options.userDataDirectory}`,
    ...(hop ? hop.switches : []),
    // The port is for clients. The pipe is for the service, and makes Chromium end with the service, whatever ends that.
    '--remote-debugging-port=0',
    '--remote-debugging-pipe',
  ];
  const child = spawn(executable, switches, {
    detached: process.platform !== 'win32',
    env: passedOn(options.environment),
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const exited = ended(child).finally(() => hop?.close());
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) killGroup(child);
    await exited;
  };
  try {
    // Right away, so that all of its processes inherit it.
    if (options.niceness !== undefined && child.pid !== undefined) setPriority(child.pid, options.niceness);
    const [, , , output, input] = child.stdio;
    if (!(output instanceof Writable) || !(input instanceof Readable)) throw new Error('a child process was started without its pipes');
    const cdp = new CdpConnection(input, output);
    const wsEndpoint = await endpoint(child, executable, signal);
    if (child.pid === undefined) throw new Error('a running process has no id');
    const close = async (timeoutMs: number) => {
      const timer = setTimeout(() => void kill(), timeoutMs);
      cdp.send('Browser.close', {}, { timeoutMs }).catch(() => {});
      await exited;
      clearTimeout(timer);
    };
    return { wsEndpoint, pid: child.pid, cdp, exited, close, kill };
  } catch (error) {
    await kill();
    throw error;
  }
}

/** Chromium says on its standard error where it listens, or why it does not start. */
async function endpoint(child: ChildProcess, executable: string, signal: AbortSignal | undefined): Promise<string> {
  let output = '';
  const listening = new AbortController();
  const { signal: settled } = listening;
  try {
    return await new Promise<string>((resolve, reject) => {
      const fail = (event: string) => reject(new OperationError('unavailable', `Chromium (${executable}) ${event}${advice(output)}`));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        if (settled.aborted) return;
        output = (output + text).slice(-16_384);
        const url = /^DevTools listening on (ws:\/\/\S+)\s/m.exec(output)?.[1];
        if (url !== undefined) resolve(url);
      });
      child.once('error', (error) => fail(`could not be started: ${error.message}`));
      child.once('close', (code, killedBy) => fail(`ended with ${killedBy ?? `code ${code}`} before it was ready`));
      const timer = setTimeout(() => fail(`was not ready within ${launchTimeoutMs / 1000} s`), launchTimeoutMs);
      settled.addEventListener('abort', () => clearTimeout(timer));
      signal?.addEventListener('abort', () => reject(signal.reason), { signal: settled });
    });
  } finally {
    listening.abort();
  }
}

function advice(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const known = [
    [/error while loading shared libraries/, 'install what it misses with `npx playwright install-deps chromium`'],
    [/no usable sandbox|running as root without --no-sandbox/i, 'its sandbox does not work here: start the service with `sandbox: false`'],
    [/missing x server|\$DISPLAY|cannot open display/i, 'there is no display: ask for a headless browser'],
  ] as const;
  const hint = known.find(([pattern]) => pattern.test(output))?.[1] ?? 'run it by hand to see what is wrong';
  return `; ${hint}${lines.length > 0 ? `. Its last words:\n${lines.slice(-5).join('\n')}` : ''}`;
}

async function ended(child: ChildProcess): Promise<number | undefined> {
  child.on('error', () => {});
  if (child.pid === undefined) return undefined;
  await new Promise((resolve) => child.once('exit', resolve));
  // What is left of its process group.
  killGroup(child);
  return child.exitCode ?? undefined;
}
