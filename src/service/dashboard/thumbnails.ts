import type { Clock } from '../process/clock.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import type { Screencast } from '../sessions/screen/screencast.ts';

/** A JPEG image of the page in view. Each new picture of a session has a greater number. */
export type Thumbnail = { jpeg: Buffer; number: number; url: string };

type Watched = {
  screencast: Screencast;
  jpeg?: Buffer;
  number: number;
  /** Requests that wait for the first picture. */
  waiting: Set<() => void>;
  cancel: () => void;
};

const size = { maxWidth: 480, maxHeight: 480, framerate: 1 };
/** How long a session is watched after the last request, and how long a request waits for the first picture. In ms. */
const unwatchedMs = 6000;
const firstFrameMs = 2000;
/** The URL of a page may be a document of many megabytes. */
const longestUrl = 300;

/** Takes small pictures of sessions for the dashboard. Stops 6 s after the last request for a session's picture. */
export class Thumbnails {
  readonly #clock: Clock;
  readonly #watched = new Map<LocalSession, Watched>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `undefined` if the session shows no page. Doesn't keep the session from being idle. */
  async of(session: LocalSession): Promise<Thumbnail | undefined> {
    const watched = this.#watched.get(session) ?? this.#watch(session);
    watched.cancel();
    watched.cancel = this.#clock.after(unwatchedMs, () => watched.screencast.stop());
    const { page } = session.browser;
    if (page.targetId === undefined) return undefined;
    if (!watched.jpeg) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(firstFrameMs, () => go());
        const go = () => {
          cancel();
          watched.waiting.delete(go);
          resolve();
        };
        watched.waiting.add(go);
      });
    }
    const { jpeg, number } = watched;
    return jpeg && { jpeg, number, url: (page.url ?? '').slice(0, longestUrl) };
  }

  #watch(session: LocalSession): Watched {
    const watched: Watched = {
      number: 0,
      waiting: new Set(),
      cancel: () => {},
      screencast: session.screencast({
        ...size,
        onFrame: (jpeg) => {
          watched.jpeg = Buffer.from(jpeg, 'base64');
          watched.number += 1;
          for (const go of watched.waiting) go();
        },
        onEnd: () => {
          watched.cancel();
          for (const go of watched.waiting) go();
          this.#watched.delete(session);
        },
      }),
    };
    this.#watched.set(session, watched);
    return watched;
  }
}
