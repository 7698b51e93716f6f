import type { Ended } from '../../support/processes/command.ts';
import { test as base } from '../commands.ts';

export { everywhere, kept, keptIn, logInUnder } from '../../support/service/profiles.ts';

type Fixtures = {
  /** Runs `playwright-pool profiles` until it ends. */
  run: (args: string[], env?: Record<string, string>) => Promise<Ended>;
};

export const test = base.extend<Fixtures>({
  run: async ({ cli }, use) => use((args, env = {}) => cli(['profiles', ...args], { env })),
});
