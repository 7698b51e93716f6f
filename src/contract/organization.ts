import { z } from 'zod';
import { json, operation } from './operation.ts';
import { engine } from './values.ts';

const offeredEngine = z.looseObject({
  engine,
  name: z.string().describe("Playwright's name of the program, such as chromium-headless-shell"),
  version: z.string().optional().describe('Missing for a Chromium of the system that has not been started yet'),
  source: z.string().describe('playwright: one of its own builds; option: named by option or environment; system'),
  playwright_versions: z.array(z.string()).describe('The versions of Playwright whose clients can use it'),
});

export type OfferedEngine = z.output<typeof offeredEngine>;

const organizationLimits = z.looseObject({
  max_concurrent_sessions: z.int().describe('Browsers at the same time in all projects, with those of pools'),
  default_project_max_concurrent_sessions: z
    .int()
    .nullable()
    .describe('The cap of projects that have no own cap; null: none'),
  draining: z
    .boolean()
    .optional()
    .describe("True if the service is about to end and starts no more sessions (this service's own field)"),
  engines: z.array(offeredEngine).optional().describe("The browsers of its machines (this service's own field)"),
});

export type OrganizationLimits = z.output<typeof organizationLimits>;

/** The operations on the organization's limits. */
export const organization = {
  limits: {
    retrieve: operation('GET /org/limits', 'Get the limits of the organization', {
      scope: 'organization',
      responses: { 200: json(organizationLimits) },
    }),
    update: operation('PATCH /org/limits', 'Change the cap of projects that have no own cap', {
      scope: 'organization',
      body: z
        .strictObject({
          default_project_max_concurrent_sessions: z
            .int()
            .min(0)
            .nullable()
            .optional()
            .describe("At most the organization's limit; 0 removes it, null leaves it unchanged"),
        })
        .prefault({}),
      responses: { 200: json(organizationLimits) },
    }),
  },
};
