import { z } from 'zod';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import { label, timestamp } from './values.ts';

const status = z.enum(['active', 'archived']);

/** A part of the organization with sessions, pools, profiles and so on of its own. */
const project = z.looseObject({
  id: z.string(),
  name: z.string(),
  status: status.describe('No request can choose an archived project'),
  created_at: timestamp,
  updated_at: timestamp,
});

export type Project = z.output<typeof project>;

const cap = z.int().min(0);
const capUpdate = cap.nullable().optional();

/** Null: no cap of the project's own. */
const projectLimits = z.looseObject({
  max_concurrent_sessions: cap.nullable().describe('Browsers at once, single sessions and those of pools together'),
  max_concurrent_invocations: cap.nullable(),
  max_pooled_sessions: cap.nullable().describe('The sizes of all pools together'),
});

export type ProjectLimits = z.output<typeof projectLimits>;

const projectLimitsUpdate = z
  .strictObject({
    max_concurrent_sessions: capUpdate,
    max_concurrent_invocations: capUpdate,
    max_pooled_sessions: capUpdate,
  })
  .describe('0 removes a cap; what is left out or null stays');

export type ProjectLimitsUpdate = z.output<typeof projectLimitsUpdate>;

function formerly<P extends `/${string}`>(path: P) {
  return { path, deprecatedOn: '2026-05-24', removedOn: '2026-11-24' } as const;
}

/** A project's key sees its own project, and changes none. */
export const projects = {
  create: operation({
    method: 'POST',
    path: '/org/projects',
    former: formerly('/projects'),
    summary: 'Create a project',
    scope: 'organization',
    body: z.strictObject({ name: label.describe('Unique in the organization') }),
    responses: { 201: json(project) },
    errors: [409],
  }),
  list: operation({
    method: 'GET',
    path: '/org/projects',
    former: formerly('/projects'),
    summary: 'List projects, newest first',
    scope: 'key',
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(project) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/org/projects/{id}',
    former: formerly('/projects/{id}'),
    summary: 'Get a project by its id or name',
    scope: 'key',
    responses: { 200: json(project) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/org/projects/{id}',
    former: formerly('/projects/{id}'),
    summary: 'Rename, archive or reactivate a project',
    scope: 'organization',
    body: z.strictObject({ name: label.optional(), status: status.optional() }).prefault({}),
    responses: { 200: json(project) },
    errors: [404, 409],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/org/projects/{id}',
    former: formerly('/projects/{id}'),
    summary: 'Delete an empty project',
    scope: 'organization',
    responses: { 204: empty },
    errors: [404, 409],
  }),
  limits: {
    retrieve: operation({
      method: 'GET',
      path: '/org/projects/{id}/limits',
      former: formerly('/projects/{id}/limits'),
      summary: 'Get the limits of a project',
      scope: 'key',
      responses: { 200: json(projectLimits) },
      errors: [404],
    }),
    update: operation({
      method: 'PATCH',
      path: '/org/projects/{id}/limits',
      former: formerly('/projects/{id}/limits'),
      summary: 'Change the limits of a project',
      scope: 'organization',
      body: projectLimitsUpdate.prefault({}),
      responses: { 200: json(projectLimits) },
      errors: [404],
    }),
  },
};
