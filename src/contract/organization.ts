import { z } from 'zod';
import { json, operation } from './operation.ts';

const organizationLimits = z.looseObject({
  max_concurrent_sessions: z.int().describe('Browsers at once in all projects, single sessions and those of pools together'),
  default_project_max_concurrent_sessions: z.int().nullable().describe('The cap of projects without one of their own; null: none'),
});

export type OrganizationLimits = z.output<typeof organizationLimits>;

export const organization = {
  limits: {
    retrieve: operation({
      method: 'GET',
      path: '/org/limits',
      summary: 'Get the limits of the organization',
      scope: 'organization',
      responses: { 200: json(organizationLimits) },
      errors: [],
    }),
    update: operation({
      method: 'PATCH',
      path: '/org/limits',
      summary: 'Change the cap of projects without one of their own',
      scope: 'organization',
      body: z
        .strictObject({
          default_project_max_concurrent_sessions: z
            .int()
            .min(0)
            .nullable()
            .optional()
            .describe("0 removes it, null leaves it; at most the organization's limit"),
        })
        .prefault({}),
      responses: { 200: json(organizationLimits) },
      errors: [],
    }),
  },
};
