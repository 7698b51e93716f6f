import { type Dirent } from 'node:fs';
import { chmod, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../id.ts';
import { errorCode } from '../system-error.ts';
import { Branches } from './branches.ts';
import { freeze, isFrozen, withDirectory, type OpenDirectory } from './frozen.ts';

/** Processes that are ending may still write to a directory. The delay is in ms. */
const [mostTries, delay] = [10, 20];
const patiently = { recursive: true, force: true, maxRetries: mostTries, retryDelay: delay };
/** A deeper directory is moved up, so that a tree of any depth needs few open directories. */
const deepest = 30;

/**
 * Removes a file, a link, or a directory with its contents, even if the service has no permissions there any more. Does
 * nothing if it is missing. Never leaves the tree, whatever other processes do there meanwhile: on Linux, it opens each
 * directory without following links, and takes all rights on it from others before it removes the entries.
 *
 * With `ownedBy`, a directory of another user is removed only if it is empty, and nothing is taken from the owner before:
 * a watch would report that.
 */
export async function removeTree(place: string, { ownedBy }: { ownedBy?: number | undefined } = {}): Promise<void> {
  if (process.platform !== 'linux') return await removeByPath(place);
  try {
    await unlink(place);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    if (errorCode(error) !== 'EISDIR') throw error;
    await new Removal(ownedBy).run(place);
  }
}

class Removal {
  readonly #branches = new Branches();
  readonly #owner: number | undefined;
  /** The names of the directories in the tree's top that were too deep. */
  readonly #movedUp: string[] = [];

  constructor(owner: number | undefined) {
    this.#owner = owner;
  }

  async run(top: string): Promise<void> {
    await unlessMissing(this.#removeDirectory(top));
  }

  /** `top` is an open path of the tree's first directory; missing for that directory itself. */
  async #removeDirectory(place: string, top?: string, depth = 0): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await withDirectory(place, (opened) => this.#empty(opened, top, depth));
      try {
        // Not before the directory is closed: the last close of a removed directory waits for the disk.
        return await rmdir(place);
      } catch (error) {
        if (errorCode(error) !== 'ENOTEMPTY' || tries === mostTries) throw error;
        await sleep(delay);
      }
    }
  }

  async #empty(opened: OpenDirectory, top: string | undefined, depth: number): Promise<void> {
    if (top === undefined && this.#isForeign(opened)) return;
    if (this.#owner === undefined) await freeze(opened);
    await this.#branches.each(await readdir(opened.path, { withFileTypes: true }), async (entry) => {
      await unlessMissing(this.#remove(`${opened.path}/${entry.name}`, entry, top ?? opened.path, depth + 1));
    });
    if (top !== undefined) return;
    for (let name = this.#movedUp.pop(); name !== undefined; name = this.#movedUp.pop())
      await unlessMissing(this.#removeDirectory(`${opened.path}/${name}`, opened.path, 1));
  }

  async #remove(place: string, entry: Dirent, top: string, depth: number): Promise<void> {
    if (!entry.isDirectory()) return await unlink(place);
    if (depth < deepest) return await this.#removeDirectory(place, top, depth);
    const name = newId();
    await rename(place, `${top}/${name}`);
    this.#movedUp.push(name);
  }

  #isForeign({ stats }: OpenDirectory): boolean {
    return this.#owner !== undefined && stats.uid !== this.#owner && !isFrozen(stats);
  }
}

async function unlessMissing(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** For systems other than Linux, where all sessions have the service's user. */
async function removeByPath(place: string): Promise<void> {
  try {
    await rm(place, patiently);
  } catch (error) {
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    await openUp(place);
    await rm(place, patiently);
  }
}

/** Gives the service all permissions on the directories of a tree. It needs none on the files to remove them. */
async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700).catch(() => {});
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries) if (entry.isDirectory()) await openUp(path.join(directory, entry.name));
}
