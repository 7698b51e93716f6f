import type { ChildProcess } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import { startChild } from '../process/children/child.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { passedOn } from '../process/children/passed-on.ts';
import { killGroup } from '../process/children/is-running.ts';
import { CdpConnection } from './cdp/cdp-connection.ts';
import { isHeadlessShell } from './find-chromium.ts';
import { OutputLines } from './output-lines.ts';
import type { Environment } from './playwright-builds.ts';
import type { ProxyAccess } from './network/proxy-connection.ts';
import type { IsolatedUser } from './isolated-user.ts';
import { chromiumSwitches } from './switches.ts';
import { Egress } from './network/egress.ts';
import { sharedTemporaryDirectory } from '../process/trees/reachable.ts';
import { join } from 'node:path';
import { symlink, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';

/**
 * Options of the service: the path of Chromium, whether it runs in its sandbox, and whether pages are kept from the
 * service's machine.
 */
export type ChromiumSettings = { executable?: string; sandbox?: boolean; blockLoopback?: boolean };

/** A running Chromium. */
export type Chromium = {
  /** Such as `131.0.6778.33`. */
  version: string;
  /** Whether the service can load extensions into it. */
  takesExtensions: boolean;
  /** Whether its pages are kept from all programs on this machine. */
  blocksLoopback?: boolean | undefined;
  /** The local proxies through which it reaches the network. */
  egress: Egress;
  /** The leader of Chromium's process group. On Linux often a script that started Chromium. */
  pid: number;
  /** The lines that it wrote on its standard error. */
  output: OutputLines;
  /** The service's connection, which clients share. */
  cdp: CdpConnection;
  /** Resolves when the process has ended, with the exit code unless it was killed. Never rejects. */
  exited: Promise<number | undefined>;
  /** Closes Chromium, so that it saves its profile, and waits for its end. Kills it after the timeout. */
  close(timeoutMs: number): Promise<void>;
  /** Kills all of Chromium's processes and waits for their end. */
  kill(): Promise<void>;
};

export type LaunchOptions = {
  executable: string;
  userDataDirectory: string;
  headless: boolean;
  /** Default: off for root, else on. */
  sandbox?: boolean | undefined;
  /** The user under which it runs, if not that of the service. */
  isolatedUser?: IsolatedUser | undefined;
  /** The namespaces in which it runs, if not those of the service. */
  namespaces?: Namespaces | undefined;
  viewport: { width: number; height: number };
  /** For all addresses that aren't on this machine. */
  proxy?: ProxyAccess | undefined;
  /** Keeps pages from programs on this machine. */
  blockLoopback?: boolean | undefined;
  /** Lets the default context use a tunnel. All of its requests pass through the service then. */
  tunnel?: boolean | undefined;
  /** Lets the service load extensions. Default: false. */
  extensions?: boolean | undefined;
  environment: Environment;
  /** Switches that a caller added; see `checkExtraSwitches`. */
  extraSwitches?: readonly string[] | undefined;
  /** The priority of its processes, as in the command `nice`. Default: 0. */
  niceness?: number;
  signal?: AbortSignal;
};

const launchTimeoutMs = 30_000;

/** Starts a Chromium without a page. Throws `unavailable` if it doesn't start, and the signal's reason. */
export async function launchChromium(options: LaunchOptions): Promise<Chromium> {
  options.signal?.throwIfAborted();
  const { proxy, blockLoopback, tunnel, isolatedUser } = options;
  const egress = new Egress({ proxy, blockLoopback, tunnel, user: isolatedUser?.user });
  try {
    return await launchWith(egress, options);
  } catch (error) {
    egress.close();
    throw error;
  }
}

async function launchWith(egress: Egress, options: LaunchOptions): Promise<Chromium> {
  const { executable, headless, viewport, signal, isolatedUser, namespaces, blockLoopback = false } = options;
  const environment = passedOn((await isolatedUser?.environment(options.environment)) ?? options.environment);
  const switches = [
    ...chromiumSwitches({
      headless,
      sandbox: options.sandbox ?? process.getuid?.() !== 0,
      extra: options.extraSwitches,
      extensions: options.extensions,
    }),
    `--window-size=${viewport.width},${viewport.height}`,
    `--user-data-dir=${options.userDataDirectory}`,
    ...(await egress.switches()),
    // Only the service can speak CDP over the pipe. Chromium ends when the pipe closes, so also when the service is
    // killed.
    '--remote-debugging-pipe',
  ];
  // A whole Chromium makes a socket, whose path must be short. The headless shell makes none.
  const temporary =
    isolatedUser && !isHeadlessShell(executable)
      ? await shortTemporary(isolatedUser.temporary, { hasOwnTmp: namespaces !== undefined })
      : undefined;
  const child = startChild({
    file: executable,
    args: switches,
    environment: withUtf8({ ...environment, ...(temporary && { TMPDIR: temporary.path }) }),
    directory: isolatedUser?.home ?? process.cwd(),
    user: isolatedUser?.user,
    namespaces,
    niceness: options.niceness,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const output = new OutputLines();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => output.write(text));
  egress.allowProcessGroup(child.pid);
  const exited = ended(child, async () => {
    egress.close();
    await temporary?.remove();
  });
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) killGroup(child);
    await exited;
  };
  try {
    const [, , , toChild, input] = child.stdio;
    if (!(toChild instanceof Writable) || !(input instanceof Readable))
      throw new Error('Chromium was started without the pipes for its debugging commands');
    const cdp = new CdpConnection(input, toChild);
    egress.openContexts = async () => (await cdp.send('Target.getBrowserContexts', {})).browserContextIds;
    const version = await untilReady(child, cdp, { output, executable, signal });
    if (child.pid === undefined) throw new Error('Chromium was started, but the system gave it no process id');
    const close = async (timeoutMs: number) => {
      const timer = setTimeout(() => void kill(), timeoutMs);
      cdp.send('Browser.close', {}, { timeoutMs }).catch(() => {});
      await exited;
      clearTimeout(timer);
    };
    const takesExtensions = options.extensions ?? false;
    return {
      version,
      takesExtensions,
      blocksLoopback: blockLoopback,
      egress,
      pid: child.pid,
      output,
      cdp,
      exited,
      close,
      kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}

/** Waits for the first answer, and returns the version. Chromium writes on its standard error why it doesn't start. */
async function untilReady(
  child: ChildProcess,
  cdp: CdpConnection,
  { output, executable, signal }: { output: OutputLines; executable: string; signal: AbortSignal | undefined },
): Promise<string> {
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, killedBy) => resolve(`ended with ${killedBy ?? `code ${code}`} before it was ready`));
  });
  const answer = await Promise.race([
    ended,
    cdp.send('Browser.getVersion', {}, { timeoutMs: launchTimeoutMs, ...(signal && { signal }) }).then(
      ({ product }) => ({ version: product.replace(/^.*\//, '') }),
      async () => {
        signal?.throwIfAborted();
        if (!cdp.isClosed) return `was not ready within ${launchTimeoutMs / 1000} s`;
        return await Promise.race([ended, sleep(1000, 'closed its debugging pipe', { ref: false })]);
      },
    ),
  ]);
  if (typeof answer !== 'string') return answer.version;
  throw new OperationError('unavailable', `Chromium (${executable}) ${answer}${advice(output.last)}`);
}

function advice(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const known = [
    [
      /error while loading shared libraries/,
      'install the missing libraries with `npx playwright install-deps chromium`',
    ],
    [
      /no usable sandbox|running as root without --no-sandbox/i,
      "its sandbox doesn't work on this machine: start the service with `sandbox: false`",
    ],
    [/missing x server|\$DISPLAY|cannot open display/i, 'there is no display: request a headless browser'],
  ] as const;
  const hint = known.find(([pattern]) => pattern.test(output))?.[1] ?? 'run it in a terminal to see the reason';
  return `; ${hint}${lines.length > 0 ? `. Its last output:\n${lines.slice(-5).join('\n')}` : ''}`;
}

async function ended(child: ChildProcess, release: () => Promise<void>): Promise<number | undefined> {
  child.on('error', () => {});
  try {
    if (child.pid === undefined) return undefined;
    await new Promise((resolve) => child.once('exit', resolve));
    // The rest of its process group.
    killGroup(child);
    return child.exitCode ?? undefined;
  } finally {
    await release();
  }
}

/**
 * The environment with a UTF-8 locale: in any other locale, Chromium can't open a file whose name has characters beyond
 * ASCII.
 */
export function withUtf8(environment: Environment): Environment {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  if (/utf-?8\b/i.test(LC_ALL || LC_CTYPE || LANG || '')) return environment;
  return { ...environment, [LC_ALL ? 'LC_ALL' : 'LC_CTYPE']: 'C.UTF-8' };
}

/** The longest path of a socket, in bytes (`sun_path` of Linux, without its final zero). */
const longestSocket = 107;
const socket = '/org.chromium.Chromium.XXXXXX/SingletonSocket';

/**
 * Returns a short path for a Chromium's temporary directory: the path itself, its own `/tmp` if it has one, or a link. A
 * whole Chromium makes a socket there, and fails if the socket's path is too long. (With a relative path, no download
 * completes.)
 * `remove` deletes the link.
 */
async function shortTemporary(
  directory: string,
  { hasOwnTmp }: { hasOwnTmp: boolean },
): Promise<{ path: string; remove: () => Promise<void> }> {
  if (Buffer.byteLength(directory + socket) <= longestSocket) return { path: directory, remove: async () => {} };
  if (hasOwnTmp) return { path: '/tmp', remove: async () => {} };
  const link = join(await sharedTemporaryDirectory(), `playwright-pool-${randomBytes(6).toString('hex')}`);
  await symlink(directory, link);
  return { path: link, remove: () => unlink(link).catch(() => {}) };
}
