import type { apiKeys as operations } from '../../contract/api-keys.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Caller, HandlerTree } from '../http/handler.ts';
import type { ApiKeyStore } from '../store/api-keys.ts';
import type { ProjectStore } from '../store/projects.ts';

export function apiKeyHandlers({ apiKeys, projects }: { apiKeys: ApiKeyStore; projects: ProjectStore }): HandlerTree<typeof operations> {
  return {
    create({ body, caller }) {
      const projectId = projectOf(body.project_id, caller);
      return apiKeys.create({ name: body.name, projectId, daysToExpire: body.days_to_expire ?? null, createdBy: caller.apiKey.id });
    },
    list: ({ query, caller }) => apiKeys.list(query, caller.apiKey.projectId),
    retrieve: ({ params, query, caller }) => apiKeys.get(params.id, caller.apiKey.projectId, { includeDeleted: query.include_deleted }),
    update: ({ params, body, caller }) => apiKeys.rename(params.id, caller.apiKey.projectId, body.name),
    delete({ params, caller }) {
      if (params.id === caller.apiKey.id) throw new OperationError('bad_request', 'a key cannot delete itself: use another one for that');
      apiKeys.delete(params.id, caller.apiKey.projectId);
    },
    rotate: ({ params, body, caller }) => apiKeys.rotate(params.id, caller.apiKey.projectId, body, caller.apiKey.id),
  };

  /** Null for an organization key. Throws `forbidden` and `project_not_found`. */
  function projectOf(asked: string | null | undefined, { apiKey }: Caller): string | null {
    if (asked === undefined) return apiKey.projectId ?? null;
    if (asked === null && apiKey.projectId !== undefined)
      throw new OperationError('forbidden', "a project's key creates keys of its project only");
    if (asked === null) return null;
    const isVisible = apiKey.projectId === undefined || apiKey.projectId === asked;
    if (isVisible && projects.isActive(asked)) return asked;
    throw new OperationError('project_not_found', `there is no active project with the id ${asked}`);
  }
}
