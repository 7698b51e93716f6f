import { OperationError } from '../../contract/errors.ts';
import { minorOf } from '../playwright/installed-playwright.ts';
import type { Launch } from '../sessions/launch.ts';
import { MachineSession, type MachineSessionOptions } from './machine-session.ts';

/** A session with a Firefox or WebKit on another machine. Its browser speaks with one version of Playwright only. */
export class MachineEngineSession extends MachineSession {
  #playwrightVersions: readonly string[];

  constructor(options: MachineSessionOptions) {
    super(options);
    this.#playwrightVersions = options.playwrightVersions ?? [];
  }

  override get playwrightVersions(): readonly string[] {
    return this.#playwrightVersions;
  }

  /** `complete` sets the proxy. */
  override fits(launch: Launch | undefined): boolean {
    const minor = launch?.playwright === undefined ? undefined : minorOf(launch.playwright);
    return minor === undefined || this.#playwrightVersions.some((version) => minorOf(version) === minor);
  }

  override async complete(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    if (!this.fits(launch)) await this.relaunch(launch, signal);
    await super.complete(launch, signal);
  }

  protected override async relaunch(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    const { playwright_versions: versions = [] } = await this.update(
      { playwright_version: launch?.playwright },
      { signal },
    );
    this.#playwrightVersions = versions;
    this.record();
    if (!this.fits(launch))
      throw new OperationError('conflict', `the machine ${this.host.url} takes no playwright_version: update it`);
  }
}
