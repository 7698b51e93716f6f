import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import type { Clock } from '../process/clock.ts';

const lookUpEveryMs = 3000;

/** Finds the machines of a control plane by URL or DNS, and looks for new ones until it is closed. */
export class Discovery {
  readonly #sources: readonly string[];
  readonly #onFound: (urls: string[]) => void;
  readonly #clock: Clock;
  /** The latest answer for each name. */
  readonly #known = new Map<string, string[]>();
  #cancel = () => {};
  #isClosed = false;

  /** `sources` are URLs of machines, and `dns://NAME:PORT` for all addresses of a name. Throws if one is malformed. */
  constructor(sources: readonly string[], options: { onFound: (urls: string[]) => void; clock: Clock }) {
    for (const source of sources) refuseMalformed(source);
    this.#sources = sources;
    this.#onFound = options.onFound;
    this.#clock = options.clock;
  }

  /** Looks the names up once, then every 3 s in the background. Never rejects: a name may have no address yet. */
  async find(): Promise<void> {
    const found = await Promise.all(this.#sources.map((source) => this.#urlsOf(source)));
    if (this.#isClosed) return;
    this.#onFound([...new Set(found.flat())]);
    if (this.#sources.some(isName)) this.#cancel = this.#clock.after(lookUpEveryMs, () => void this.find());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async #urlsOf(source: string): Promise<string[]> {
    if (!isName(source)) return [source.replace(/\/+$/, '')];
    const { hostname, port } = new URL(source);
    try {
      const addresses = await lookup(hostname, { all: true });
      const urls = addresses.map(({ address }) => `http://${isIPv6(address) ? `[${address}]` : address}:${port}`);
      this.#known.set(source, urls);
      return urls;
    } catch (error) {
      // ENOTFOUND: the name has no machines any more. Other errors are temporary, so keep the last addresses.
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOTFOUND';
      if (isGone) this.#known.delete(source);
      return this.#known.get(source) ?? [];
    }
  }
}

function isName(source: string): boolean {
  return source.startsWith('dns://');
}

function refuseMalformed(source: string): void {
  const url = URL.canParse(source) ? new URL(source) : undefined;
  if (url?.protocol === 'dns:' && url.hostname !== '' && url.port !== '') return;
  if (url && /^https?:$/.test(url.protocol)) return;
  throw new Error(
    `--machines: ${JSON.stringify(source)} is neither the URL of a machine nor dns://NAME:PORT. Write for example http://10.0.0.5:8080`,
  );
}
