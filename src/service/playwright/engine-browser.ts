import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../chromium/playwright-builds.ts';
import type { Isolation } from '../chromium/isolation.ts';
import { Egress } from '../chromium/network/egress.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import { builtFile } from '../process/children/executables.ts';
import { newId } from '../process/id.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import type { SessionHome } from '../sessions/local/session-home.ts';
import type { OtherEngine } from '../sessions/launch.ts';
import type { EngineBuild } from './engine-builds.ts';
import { HostProcess } from './host-process.ts';
import { hostEnvironment, writableDirectories } from './hosts.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';

export type EngineOptions = {
  engine: OtherEngine;
  build: EngineBuild;
  /** Each version speaks with its own builds only. */
  playwright: InstalledPlaywright;
  proxy: ProxyAccess | undefined;
  isolation: Isolation;
  environment: Environment;
  signal: AbortSignal;
};

/** A Firefox or WebKit with the Playwright host that launched it. Both end together. */
export type EngineBrowser = {
  playwright: InstalledPlaywright;
  /** The address for clients of Playwright's protocol. Contains a secret. */
  endpoint: string;
  egress: Egress;
  /** Resolves when it has ended; never rejects. */
  ended: Promise<void>;
  /** Kills its processes. */
  end(): void;
};

/**
 * Launches a browser under the session's user, in namespaces of its own with the session's directories. Throws
 * `unavailable` with Playwright's reason, and the signal's reason.
 */
export async function launchEngineBrowser(home: SessionHome, options: EngineOptions): Promise<EngineBrowser> {
  const { engine, build, playwright, proxy, isolation, environment, signal } = options;
  const { user } = home.isolatedUser ?? {};
  const executable = await isolation.program(build.executable, build.directory);
  const command = await isolation.program(playwright.command, playwright.directory);
  const variables = await hostEnvironment(playwright, isolation, environment);
  const directory = path.join(home.directory, `engine-${newId()}`);
  // Without a user of its own, a new session has no directory yet.
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await home.isolatedUser?.own(directory);
  signal.throwIfAborted();
  const namespaces = await home.namespaces?.nest();
  const host = new HostProcess(
    { host: builtFile('playwright/host.js'), command },
    { environment: variables, namespaces },
  );
  const egress = new Egress({ proxy, user });
  let browserGroup: number | undefined;
  const ended = (async () => {
    await host.ended;
    egress.close();
    // Without namespaces, a browser may outlive a host that was killed.
    if (browserGroup !== undefined && !namespaces) killGroupOf(browserGroup);
    removeTree(directory).catch(() => {});
  })();
  const end = () => host.end();
  signal.addEventListener('abort', end);
  // It may have aborted while the namespaces were made.
  if (signal.aborted) end();
  try {
    await host.joinSession({ user, directory, environment: writableDirectories(directory) });
    const proxyUrl = proxy && (await egress.localProxyUrl());
    const { endpoint, pid } = await host.launch({ engine, executable, isForeign: build.isForeign, proxy: proxyUrl });
    browserGroup = namespaces ? namespaces.outerPid(pid) : pid;
    egress.allowProcessGroup(browserGroup);
    return { playwright, endpoint, egress, ended, end };
  } catch (error) {
    end();
    await ended;
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function killGroupOf(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
