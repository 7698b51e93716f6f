import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ZipFile } from 'yazl';
import { serve } from '../http/serve.ts';
import { standInFfmpeg } from '../runs/ffmpeg.ts';
import { commandPath } from './system-commands.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const execute = promisify(execFile);
const programs = ['docker', 'dockerd', 'debootstrap', 'ip', 'nsenter', 'npm', 'tar'];

/** Why this machine has no Docker engine for tests; `undefined` if it may start one. */
export function dockerProblem(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start a Docker engine';
  const missing = programs.filter((name) => commandPath(name) === undefined);
  return missing.length > 0 ? `missing: ${missing.join(', ')}` : undefined;
}

/**
 * A Docker engine of a test, with the image `playwright-pool` of deploy/Dockerfile. Its containers see only the network
 * namespace that it makes.
 */
export class DockerEngine implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'pool-docker-'));
  readonly #namespace = `pool-docker-${process.pid}`;
  #daemon: ChildProcess | undefined;

  /** `versions` are those of Playwright in the image. Rejects with `EngineError` if the engine doesn't start. */
  static async start(versions: string): Promise<DockerEngine> {
    const engine = new DockerEngine();
    try {
      // Builds need package registries, and therefore the network of the machine.
      await engine.#startDaemon(['dockerd', '--bridge', 'none', '--iptables=false', '--ip6tables=false']);
      await engine.#buildBase();
      await engine.#build(versions);
      await engine.#stopDaemon();
      await execute('ip', ['netns', 'add', engine.#namespace]);
      await execute('ip', ['-n', engine.#namespace, 'link', 'set', 'lo', 'up']);
      await engine.#startDaemon([...engine.enter, 'dockerd']);
      return engine;
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The beginning of a command line that runs in the network of the containers. */
  get enter(): string[] {
    return ['nsenter', `--net=/run/netns/${this.#namespace}`];
  }

  /** Runs a command of docker and returns its output. */
  async docker(...args: string[]): Promise<string> {
    const env = { ...process.env, DOCKER_HOST: `unix://${this.#directory}/socket`, DOCKER_BUILDKIT: '0' };
    const { stdout } = await execute('docker', args, { env, maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim();
  }

  async removeContainers(): Promise<void> {
    const ids = (await this.docker('ps', '--all', '--quiet')).split('\n').filter(Boolean);
    if (ids.length > 0) await this.docker('rm', '--force', ...ids);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#daemon?.exitCode === null) await this.removeContainers();
    await this.#stopDaemon();
    await execute('ip', ['netns', 'delete', this.#namespace]).catch(() => {});
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startDaemon([command, ...args]: string[]): Promise<void> {
    const at = (name: string) => join(this.#directory, name);
    const places = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid')];
    const daemon = spawn(command!, [...args, ...places, '--host', `unix://${at('socket')}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#daemon = daemon;
    const lines: string[] = [];
    await new Promise<void>((resolve, reject) => {
      createInterface(daemon.stderr).on('line', (line) => {
        lines.push(line);
        if (line.includes('API listen on')) resolve();
      });
      daemon.on('close', () => reject(new EngineError(`dockerd ended: ${lines.slice(-3).join('\n')}`)));
    });
  }

  async #stopDaemon(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon && daemon.exitCode === null && daemon.signalCode === null) {
      daemon.kill('SIGTERM');
      await once(daemon, 'close');
    }
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const own = mounts.map((line) => line.split(' ')[4] ?? '').filter((path) => path.startsWith(this.#directory));
    for (const path of own.toReversed()) await execute('umount', [path]);
  }

  /** The image `base`: Debian with this machine's Node, npm and certificates. */
  async #buildBase(): Promise<void> {
    const base = join(this.#directory, 'base');
    await execute('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', base]);
    copyFileSync(process.execPath, join(base, 'usr/local/bin/node'));
    await mkdir(join(base, 'usr/local/lib/node_modules'), { recursive: true });
    const npm = dirname(dirname(realpathSync(commandPath('npm')!)));
    cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm'));
    const certificates = '/etc/ssl/certs/ca-certificates.crt';
    copyFileSync(certificates, join(base, certificates));
    const archive = join(this.#directory, 'base.tar');
    await execute('tar', ['--create', '--numeric-owner', '--file', archive, '--directory', base, '.']);
    await this.docker('import', '--change', `ENV NODE_EXTRA_CA_CERTS=${certificates}`, archive, 'base');
    await Promise.all([rm(base, { recursive: true }), rm(archive)]);
  }

  /** Builds the image with arguments besides those of all tests. Playwright's builds come from a stand-in for its mirror. */
  async build(tag: string, values: Record<string, string>): Promise<string> {
    await using mirror = await serve(mirrorOfFfmpeg);
    const all = { BASE: 'base', PLAYWRIGHT_DOWNLOAD_HOST: mirror.url, ...values };
    const given = Object.entries(all).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    return await this.docker('build', '--network', 'host', '--tag', tag, ...given, join(this.#directory, 'deploy'));
  }

  async #build(versions: string): Promise<void> {
    const context = join(this.#directory, 'deploy');
    cpSync(join(root, 'deploy'), context, { recursive: true });
    const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--pack-destination', context], { cwd: root });
    await this.build('playwright-pool', { PACKAGE: `./${stdout.trim().split('\n').at(-1)}`, PLAYWRIGHT: versions });
  }
}

/** Answers each path with a ZIP archive of the program that stands in for Playwright's ffmpeg. */
const mirrorOfFfmpeg: RequestListener = (_, response) => {
  const archive = new ZipFile();
  archive.addBuffer(Buffer.from(standInFfmpeg), 'ffmpeg-linux', { mode: 0o100755 });
  archive.end();
  buffer(archive.outputStream).then(
    (bytes) => response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
    (error: unknown) => response.destroy(error as Error),
  );
};

/** The machine has all programs, but doesn't let a Docker engine run. */
export class EngineError extends Error {}
