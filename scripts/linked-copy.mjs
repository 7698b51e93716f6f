// A copy of this tree in a temporary directory, for scripts that change the tree or its dependencies. Its libraries are
// links into this tree's node_modules.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const left = /^(\.git|node_modules|dist-bench|test-results.*|playwright-report|blob-report)$/;

/** Copies the tree with its build. Its owner deletes it by `remove`, which also ends the commands that run in it. */
export class LinkedCopy {
  directory;
  #children = new Set();
  #stopped = false;

  constructor(name) {
    // Users of sessions must be able to enter it.
    const place = mkdtempSync(join(tmpdir(), `${name}-`), { mode: 0o755 });
    this.directory = join(place, 'tree');
    cpSync(root, this.directory, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => dirname(path) !== root.replace(/[\\/]$/, '') || !left.test(basename(path)),
    });
    for (const library of libraries(join(root, 'node_modules'))) {
      this.link(library, join(root, 'node_modules', library));
    }
    this.link('playwright-pool', this.directory);
  }

  /** Makes a library of the copy a link to this directory. */
  link(library, target) {
    const path = join(this.directory, 'node_modules', library);
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    symlinkSync(target, path, 'junction');
  }

  /**
   * Runs a command in the copy and resolves to `{ code, output }`. `code` is `undefined` if the command took longer than
   * `seconds`. Never resolves after `remove`. With `show`, the output also goes to the terminal.
   */
  run(command, args, { seconds = 600, env = {}, cwd = this.directory, show = false } = {}) {
    return new Promise((resolve) => {
      if (this.#stopped) return;
      const child = spawn(command, args, {
        cwd,
        env: { ...process.env, ...env },
        // A process group of its own, so that the whole command ends.
        detached: process.platform !== 'win32',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      this.#children.add(child);
      let output = '';
      const read = (data) => {
        output += data;
        if (show) process.stdout.write(data);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      let late = false;
      const deadline = setTimeout(() => {
        late = true;
        end(child, 'SIGTERM');
        setTimeout(() => end(child, 'SIGKILL'), 10_000).unref();
      }, seconds * 1000);
      child.on('error', (error) => (output += error.message));
      child.on('close', (code) => {
        clearTimeout(deadline);
        this.#children.delete(child);
        if (!this.#stopped) resolve({ code: late ? undefined : (code ?? 1), output });
      });
    });
  }

  /** Ends the commands, waits for them, and deletes the copy. */
  async remove() {
    this.#stopped = true;
    const children = [...this.#children];
    const closed = children.map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const child of children) end(child, 'SIGTERM');
    const hard = setTimeout(() => children.forEach((child) => end(child, 'SIGKILL')), 10_000);
    await Promise.all(closed);
    clearTimeout(hard);
    rmSync(dirname(this.directory), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Removes the copy and ends this process if a signal arrives. */
export function removeOnSignal(copy) {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, async () => {
      await copy.remove();
      process.exit(code);
    });
  }
}

/** The names of installed libraries, also those with a scope. Names with a dot are npm's own directories. */
function libraries(directory) {
  return readdirSync(directory)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(directory, name)).map((below) => `${name}/${below}`) : [name],
    );
}

function end(child, signal) {
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal);
  } catch {
    // It has ended.
  }
}
