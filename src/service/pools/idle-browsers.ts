import type { Engine } from '../../contract/values.ts';
import type { Launch } from '../sessions/launch.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** The browsers of a pool that nobody leases. The first ones are leased next. */
export class IdleBrowsers {
  readonly #sessions: Pick<Sessions, 'canReplace'>;
  #list: Session[] = [];

  constructor(sessions: Pick<Sessions, 'canReplace'>) {
    this.#sessions = sessions;
  }

  get length(): number {
    return this.#list.length;
  }

  get aliveCount(): number {
    return this.#list.filter(({ alive }) => alive).length;
  }

  has(session: Session): boolean {
    return this.#list.includes(session);
  }

  add(session: Session): void {
    this.#list.push(session);
  }

  /** Adds a browser that has served a lease: it is warm. */
  addUsed(session: Session): void {
    this.#list.unshift(session);
  }

  remove(session: Session | undefined): void {
    this.#list = this.#list.filter((other) => other !== session);
  }

  /** Removes and ends the ones that would be leased last, by default all. Returns how many, and when they have ended. */
  end(most = Infinity): { count: number; ended: Promise<unknown> } {
    const ending = this.#list.splice(Math.max(0, this.length - most));
    return { count: ending.length, ended: Promise.all(ending.map((session) => session.end())) };
  }

  /** Removes a browser that can be leased, if possible one that runs as its client needs it. */
  takeFor(launch: Launch | undefined): Session | undefined {
    const usable = this.#list.filter(({ alive, isReachable }) => alive && isReachable);
    const session = usable.find((one) => one.fits(launch)) ?? usable[0];
    this.remove(session);
    return session;
  }

  /** Those that can be ended for another browser, if it has an engine in their places. */
  spare(engine: Engine | undefined): Session[] {
    return this.#list.filter((session) => session.isReachable && this.#sessions.canReplace(session, engine));
  }
}
