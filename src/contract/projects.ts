import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { label, timestamp, pageQuery } from './values.ts';

const status = z.enum(['active', 'archived']);

/** A part of the organization with its own sessions, pools, profiles and so on. */
export const project = z.looseObject({
  id: z.string(),
  name: z.string(),
  status: status.describe('No request can choose an archived project'),
  created_at: timestamp,
  updated_at: timestamp,
});

export type Project = z.output<typeof project>;

const cap = z.int().min(0);
const capUpdate = cap.nullable().optional();

/** The limits of a project. Null: the project has no cap of its own. */
export const projectLimits = z.looseObject({
  max_concurrent_sessions: cap.nullable().describe('Browsers at the same time, with those of pools'),
  max_concurrent_invocations: cap.nullable(),
  max_pooled_sessions: cap.nullable().describe('Sum of the sizes of all pools'),
});

export type ProjectLimits = z.output<typeof projectLimits>;

const projectLimitsUpdate = z
  .strictObject({
    max_concurrent_sessions: capUpdate,
    max_concurrent_invocations: capUpdate,
    max_pooled_sessions: capUpdate,
  })
  .describe('0 removes a cap; missing and null fields stay unchanged');

export type ProjectLimitsUpdate = z.output<typeof projectLimitsUpdate>;

/** Marks a deprecated path of a project operation. */
function formerly<P extends `/${string}`>(path: P) {
  return { path, deprecatedOn: '2026-05-24', removedOn: '2026-11-24' } as const;
}

/** The operations on projects. A project's key can only read its own project. */
export const projects = {
  create: operation('POST /org/projects', 'Create a project', {
    former: formerly('/projects'),
    scope: 'organization',
    body: z.strictObject({ name: label.describe('Unique in the organization') }),
    responses: { 201: json(project) },
    errors: [409],
  }),
  list: operation('GET /org/projects', 'List projects, newest first', {
    former: formerly('/projects'),
    scope: 'key',
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(project) },
  }),
  retrieve: operation('GET /org/projects/{id}', 'Get a project by its id or name', {
    former: formerly('/projects/{id}'),
    scope: 'key',
    responses: { 200: json(project) },
  }),
  update: operation('PATCH /org/projects/{id}', 'Rename, archive or reactivate a project', {
    former: formerly('/projects/{id}'),
    scope: 'organization',
    body: z.strictObject({ name: label.optional(), status: status.optional() }).prefault({}),
    responses: { 200: json(project) },
    errors: [409],
  }),
  delete: operation('DELETE /org/projects/{id}', 'Delete an empty project', {
    former: formerly('/projects/{id}'),
    scope: 'organization',
    responses: { 204: empty },
    errors: [409],
  }),
  limits: {
    retrieve: operation('GET /org/projects/{id}/limits', 'Get the limits of a project', {
      former: formerly('/projects/{id}/limits'),
      scope: 'key',
      responses: { 200: json(projectLimits) },
    }),
    update: operation('PATCH /org/projects/{id}/limits', 'Change the limits of a project', {
      former: formerly('/projects/{id}/limits'),
      scope: 'organization',
      body: projectLimitsUpdate.prefault({}),
      responses: { 200: json(projectLimits) },
    }),
  },
};
