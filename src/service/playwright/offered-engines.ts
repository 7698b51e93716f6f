import type { OfferedEngine } from '../../contract/organization.ts';
import { findAllChromiums } from '../chromium/find-chromium.ts';
import type { Environment } from '../chromium/playwright-builds.ts';
import type { Clock } from '../process/clock.ts';
import { findEngine, ownBuild } from './engine-builds.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';

type Sources = {
  chromium: { executable?: string };
  playwrights: readonly InstalledPlaywright[];
  firefox: string | undefined;
  environment: Environment;
  isolation: { startedVersions: ReadonlyMap<string, string> };
  clock: Clock;
};

/** How long a list is valid, in ms. A browser may be installed while the service runs. */
const validMs = 10_000;

/** The browsers of this machine. */
export class OfferedEngines {
  readonly #sources: Sources;
  #latest: OfferedEngine[] = [];
  #videoVersions: string[] = [];
  #reading: Promise<OfferedEngine[]> | undefined;
  #readAt = -Infinity;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** The list of the last read. Starts a read if that is long ago. */
  latest(): readonly OfferedEngine[] {
    void this.read();
    return this.#latest;
  }

  /** The versions of Playwright whose ffmpeg was there at the last read. */
  videoVersions(): readonly string[] {
    void this.read();
    return this.#videoVersions;
  }

  /** Never rejects. */
  async read(): Promise<readonly OfferedEngine[]> {
    const now = this.#sources.clock.now();
    if (now - this.#readAt < validMs) return this.#latest;
    this.#reading ??= this.#find().finally(() => (this.#reading = undefined));
    this.#latest = await this.#reading;
    this.#readAt = now;
    return this.#latest;
  }

  async #find(): Promise<OfferedEngine[]> {
    const { playwrights, environment } = this.#sources;
    const ffmpegs = await Promise.all(playwrights.map((playwright) => ownBuild('ffmpeg', playwright, environment)));
    this.#videoVersions = playwrights.filter((_, index) => ffmpegs[index]).map(({ version }) => version);
    return await offeredEngines(this.#sources);
  }
}

async function offeredEngines({
  chromium,
  playwrights,
  firefox,
  environment,
  isolation: { startedVersions },
}: Sources): Promise<OfferedEngine[]> {
  const versions = playwrights.map(({ version }) => version);
  // A given executable may be missing.
  const chromiums = await findAllChromiums(chromium.executable, environment).catch(() => []);
  const offered = chromiums.map(({ name, executable, source, version = startedVersions.get(executable) }) => ({
    engine: 'chromium' as const,
    name,
    version,
    source,
    playwright_versions: versions,
  }));
  const others = new Map<string, OfferedEngine>();
  for (const engine of ['firefox', 'webkit'] as const) {
    for (const playwright of playwrights) {
      const build = await findEngine(engine, playwright, { firefox, environment }).catch(() => undefined);
      if (!build) continue;
      const { executable, isForeign, version } = build;
      const source = isForeign ? 'option' : 'playwright';
      const ofBuild = { engine, name: engine, version, source };
      const earlier = others.get(executable)?.playwright_versions ?? [];
      others.set(executable, { ...ofBuild, playwright_versions: [...earlier, playwright.version] });
    }
  }
  return [...offered, ...others.values()];
}
