import { availableParallelism } from 'node:os';
import type { Clock } from '../process/clock.ts';
import type { ShownSession } from '../sessions/screen/shown-session.ts';

/** A JPEG image of the page in view. The number tells it from the pictures before. */
export type Thumbnail = { jpeg: Buffer; number: number; url: string };

/** `token` is that of the lease that the picture shows. `takenAt` is in ms since the service's start. */
type Picture = Thumbnail & { token: string; takenAt: number };

type Watched = {
  picture?: Picture;
  /** The start of the last turn, in ms since the service's start. `undefined` before the first one. */
  turnAt: number | undefined;
  /** Requests that wait for the first picture. */
  waiting: Set<() => void>;
  forget: () => void;
};

const size = { maxWidth: 480, maxHeight: 480, framerate: 1 };
/** How long a session is watched after the last request, in ms. */
const unwatchedMs = 6000;
/** How long a request waits for the first picture, and a turn for its picture, in ms. */
const firstPictureMs = 2000;
const turnMs = 2000;
/** How long the last picture is shown while no page is open, as between two tests, in ms. */
const keptMs = 5000;
/** Between two pictures of one session, in ms. */
const intervalMs = 1000;
/** Between two pictures of any sessions, in ms, so that they take a small part of the processors. */
const spacingMs = 1500 / availableParallelism();
/** The URL of a page may be a document of many megabytes. */
const longestUrl = 300;

/**
 * Small pictures of sessions that somebody looks at. The sessions take turns, so that a wall of many sessions slows none
 * of them down. Between its turns a session has no screencast: with one, Chromium copies each frame that the page draws.
 */
export class Thumbnails {
  readonly #clock: Clock;
  readonly #watched = new Map<ShownSession, Watched>();
  #lastTurnAt = 0;
  #pictures = 0;
  #cancelTurn = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `undefined` if the session shows no page. Doesn't keep the session from being idle. */
  async of(session: ShownSession): Promise<Thumbnail | undefined> {
    const watched = this.#watch(session);
    const hasPage = session.browser.page.targetId !== undefined;
    if (watched.picture?.token !== session.lease.token) delete watched.picture;
    if (hasPage && !watched.picture) await this.#firstPicture(watched);
    const { picture } = watched;
    if (!picture || hasPage) return picture;
    return performance.now() - picture.takenAt < keptMs ? picture : undefined;
  }

  #watch(session: ShownSession): Watched {
    const watched = this.#watched.get(session) ?? {
      turnAt: undefined,
      waiting: new Set(),
      forget: () => {},
    };
    watched.forget();
    watched.forget = this.#clock.after(unwatchedMs, () => {
      this.#watched.delete(session);
      this.#awaitTurn();
    });
    this.#watched.set(session, watched);
    this.#awaitTurn();
    return watched;
  }

  async #firstPicture(watched: Watched): Promise<void> {
    await new Promise<void>((resolve) => {
      const go = () => {
        cancel();
        watched.waiting.delete(go);
        resolve();
      };
      const cancel = this.#clock.after(firstPictureMs, go);
      watched.waiting.add(go);
    });
  }

  /** Waits for the turn of the session that had none for the longest time. The first turn of a session is at once. */
  #awaitTurn(): void {
    this.#cancelTurn();
    this.#cancelTurn = () => {};
    const [next] = [...this.#watched].sort(([, one], [, other]) => (one.turnAt ?? 0) - (other.turnAt ?? 0));
    if (!next) return;
    const [session, { turnAt }] = next;
    const dueAt = turnAt === undefined ? 0 : Math.max(turnAt + intervalMs, this.#lastTurnAt + spacingMs);
    this.#cancelTurn = this.#clock.after(Math.max(0, dueAt - performance.now()), () => {
      this.#lastTurnAt = performance.now();
      this.#take(session);
      this.#awaitTurn();
    });
  }

  #take(session: ShownSession): void {
    const watched = this.#watched.get(session)!;
    watched.turnAt = performance.now();
    if (!session.alive || session.browser.page.targetId === undefined) return;
    const screencast = session.screencast({
      ...size,
      isInterruptible: true,
      onFrame: (frame) => {
        watched.picture = this.#pictureOf(session, Buffer.from(frame, 'base64'), watched.picture);
        screencast.stop();
        for (const go of watched.waiting) go();
      },
      onEnd: () => cancel(),
    });
    const cancel = this.#clock.after(turnMs, () => screencast.stop());
  }
  #pictureOf(session: ShownSession, jpeg: Buffer, before: Picture | undefined): Picture {
    const number = before?.jpeg.equals(jpeg) ? before.number : ++this.#pictures;
    const url = (session.browser.page.url ?? '').slice(0, longestUrl);
    return { jpeg, number, url, token: session.lease.token, takenAt: performance.now() };
  }
}
