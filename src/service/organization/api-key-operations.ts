import type { apiKeys as operations } from '../../contract/api-keys.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Caller, HandlerTree } from '../http/handler.ts';
import type { ApiKeyStore } from './api-keys.ts';
import type { ProjectStore } from './projects.ts';

type Dependencies = { apiKeys: ApiKeyStore; projects: ProjectStore };

/** The handlers of the API key operations. Keys of a project see and change only keys of this project. */
export function apiKeyHandlers({ apiKeys, projects }: Dependencies): HandlerTree<typeof operations> {
  return {
    create({ body, caller }) {
      const createdBy = manager(caller);
      const projectId = projectOf(body.project_id, caller);
      return apiKeys.create({ name: body.name, projectId, daysToExpire: body.days_to_expire, createdBy });
    },
    list: ({ query, caller }) => apiKeys.list(query, caller.apiKey.projectId),
    retrieve: ({ params, query, caller }) =>
      apiKeys.get(params.id, caller.apiKey.projectId, { includeDeleted: query.include_deleted }),
    update({ params, body, caller }) {
      manager(caller);
      return apiKeys.update(params.id, caller.apiKey.projectId, body);
    },
    delete({ params, query, caller }) {
      const callerId = manager(caller);
      const { projectId } = caller.apiKey;
      if (query.keep_children && projectId !== undefined)
        throw new OperationError(
          'forbidden',
          "keep_children needs an organization key: this request's key belongs to a project",
        );
      apiKeys.delete(params.id, projectId, { callerId, keepsChildren: query.keep_children });
    },
    rotate: ({ params, body, caller }) => apiKeys.rotate(params.id, caller.apiKey.projectId, body, manager(caller)),
  };

  /** The project of a new key; null for an organization key. Throws `forbidden` and `project_not_found`. */
  function projectOf(asked: string | null | undefined, { apiKey }: Caller): string | null {
    if (asked === undefined) return apiKey.projectId ?? null;
    if (asked === null && apiKey.projectId !== undefined)
      throw new OperationError(
        'forbidden',
        "a project's key can only create keys of this project: use an organization key, or leave project_id out",
      );
    if (asked === null) return null;
    const isVisible = apiKey.projectId === undefined || apiKey.projectId === asked;
    if (isVisible && projects.isActive(asked)) return asked;
    throw new OperationError('project_not_found', `there is no active project with the id ${asked}`);
  }
}

/** The id of the caller's key, which must be allowed to manage keys. Throws `forbidden` for the key of an app's process. */
function manager({ apiKey }: Caller): string {
  if (!apiKey.isOfApp) return apiKey.id;
  throw new OperationError('forbidden', "an app's key can't manage API keys: use a key of the project");
}
