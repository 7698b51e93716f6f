import { OperationError } from '../../contract/errors.ts';
import type { OfferedEngine } from '../../contract/organization.ts';
import type { Engine } from '../../contract/values.ts';
import { minorOf } from '../playwright/installed-playwright.ts';

/** A machine, or the service for overflow. */
type Offering = {
  readonly url: string;
  /** `undefined` until it answers. */
  readonly engines: readonly OfferedEngine[] | undefined;
};

/** The list of a service that doesn't tell what it has. */
export const onlyChromium: OfferedEngine[] = [
  { engine: 'chromium', name: 'chromium', source: 'unknown', playwright_versions: [] },
];

/** The refusal of an error that names many machines lists so many. */
const mostListed = 10;

/** Whether a machine has the engine, for clients of this version of Playwright if one is given. */
export function offers({ engines = [] }: Offering, engine: Engine, playwright?: string): boolean {
  return engines.some((one) => one.engine === engine && (playwright === undefined || serves(one, playwright)));
}

/** The error if all machines are known, and none has the engine. */
export function lackOf(engine: Engine, machines: readonly Offering[], playwright?: string): OperationError | undefined {
  if (machines.length === 0) return undefined;
  if (machines.some((one) => !one.engines || offers(one, engine, playwright))) return undefined;
  const listed = machines.slice(0, mostListed).map((one) => `${one.url} has ${namesOf(one, engine)}`);
  const rest = machines.length - listed.length;
  const wanted = playwright === undefined ? engine : `${engine} for Playwright ${playwright}`;
  const command = `npx playwright${playwright === undefined ? '' : `@${playwright}`} install --with-deps ${engine}`;
  const all = [...listed, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  return new OperationError('no_browser', `no machine has ${wanted} (${all}): run \`${command}\` on one of them`);
}

/** The browsers of all machines, each once. */
export function joined(machines: readonly Offering[]): OfferedEngine[] {
  const all = new Map<string, OfferedEngine>();
  for (const one of machines.flatMap(({ engines = [] }) => engines)) {
    const key = [one.name, one.version, one.source].join(' ');
    const versions = [...(all.get(key)?.playwright_versions ?? []), ...one.playwright_versions];
    all.set(key, { ...one, playwright_versions: [...new Set(versions)] });
  }
  return [...all.values()];
}

function serves({ playwright_versions: versions }: OfferedEngine, playwright: string): boolean {
  return versions.some((version) => minorOf(version) === minorOf(playwright));
}

/** The engines of a machine, and the versions of Playwright for the asked one. */
function namesOf({ engines = [] }: Offering, asked: Engine): string {
  const names = engines.map(({ engine, playwright_versions: versions }) =>
    engine === asked ? `${engine} for Playwright ${versions.join(' and ')}` : engine,
  );
  return [...new Set(names)].join(' and ') || 'no browser';
}
