import { OperationError } from '../../../contract/errors.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import type { Namespaces } from '../../process/children/namespaces.ts';
import type { SessionBrowser } from './session-browser.ts';
import { renewFiles } from './session-files.ts';

/** Empties the clipboard of a session's browser if a caller used it. */
export type EmptyClipboard = (session: { browser: SessionBrowser }) => Promise<void>;

/** The parts of a session in which a lease leaves traces. */
type Leased = {
  readonly id: string;
  readonly alive: boolean;
  readonly root: string;
  readonly isolatedUser: IsolatedUser | undefined;
  readonly namespaces: Namespaces | undefined;
  readonly browser: SessionBrowser;
};

/** Removes the files, browser contexts and clipboard of a lease before the session goes to the next one. */
export class LeaseTraces {
  readonly #session: Leased;
  readonly #emptyClipboard: EmptyClipboard | undefined;
  /** The namespaces of programs, until all programs in them have ended. */
  readonly #programs = new Set<Namespaces>();
  #removed: Promise<void> | undefined;

  constructor(session: Leased, emptyClipboard: EmptyClipboard | undefined) {
    this.#session = session;
    this.#emptyClipboard = emptyClipboard;
  }

  /** Makes namespaces for one program, with the session's mounts. `undefined` if the session has none. */
  async openNamespaces(): Promise<Namespaces | undefined> {
    const opened = await this.#session.namespaces?.nest();
    if (!opened) return undefined;
    this.#programs.add(opened);
    void opened.ended.then(() => this.#programs.delete(opened));
    return opened;
  }

  /** Begins to remove the traces. Call it when the lease has ended. */
  remove(): void {
    const session = this.#session;
    this.#removed = this.#remove();
    this.#removed.catch(({ cause }: Error) => {
      // Chromium's errors are logged elsewhere, such as its end.
      if (session.alive && !(cause instanceof OperationError)) console.error(`browser session ${session.id}:`, cause);
    });
  }

  /** Resolves when the traces are removed. Throws `unavailable` if that failed. */
  async removed(): Promise<void> {
    await this.#removed;
  }

  async #remove(): Promise<void> {
    const session = this.#session;
    try {
      // Their programs could write files again.
      await Promise.all(Array.from(this.#programs, ({ ended }) => ended));
      await Promise.all([renewFiles(session), session.browser.disposeContexts(), this.#emptyClipboard?.(session)]);
    } catch (cause) {
      const problem = 'files, browser contexts or clipboard of its last lease could not be removed';
      throw new OperationError('unavailable', `the browser session ${session.id} is not used again: ${problem}`, {
        cause,
      });
    }
  }
}
