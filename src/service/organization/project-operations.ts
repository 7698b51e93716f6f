import { OperationError } from '../../contract/errors.ts';
import type { Project, projects as operations } from '../../contract/projects.ts';
import type { Caller, HandlerTree } from '../http/handler.ts';
import type { LimitStore } from './limits.ts';
import type { ProjectStore } from './projects.ts';
import type { Pools } from '../pools/pools.ts';

/** Functions that count a project's resources, by the resource's name in messages. */
export type Contents = { [kind: string]: (projectId: string) => number };

type Dependencies = { projects: ProjectStore; limits: LimitStore; contents: Contents; pools: Pools };

/** The handlers of the project operations. They refuse to delete a project that has any `contents`. */
export function projectHandlers(dependencies: Dependencies): HandlerTree<typeof operations> {
  const { projects, limits, contents, pools } = dependencies;
  return {
    create: ({ body }) => projects.create(body),
    list: ({ query, caller }) =>
      projects.list({ ...query, ...(caller.apiKey.projectId && { id: caller.apiKey.projectId }) }),
    retrieve: ({ params, caller }) => visible(params.id, caller),
    update: ({ params, body }) => projects.update(params.id, body),
    delete({ params }) {
      const { id, name } = byId(params.id);
      const left = Object.entries(contents).flatMap(([kind, count]) => (count(id) > 0 ? [kind] : []));
      if (left.length > 0)
        throw new OperationError(
          'project_not_empty',
          `the project ${name} still has ${left.join(', ')}: delete them first`,
        );
      projects.delete(id);
    },
    limits: {
      retrieve: ({ params, caller }) => limits.ofProject(visible(params.id, caller).id),
      update({ params, body }) {
        const changed = limits.update(byId(params.id).id, body);
        pools.limitsChanged();
        return changed;
      },
    },
  };

  /** By id or name. Throws `project_not_found`, also for a project that the key may not see. */
  function visible(idOrName: string, { apiKey }: Caller): Project {
    const own = apiKey.projectId === undefined ? undefined : projects.get(apiKey.projectId);
    if (!own) return projects.get(idOrName);
    if (idOrName === own.id || idOrName === own.name) return own;
    throw new OperationError('project_not_found', `no project has the id or name ${idOrName}`);
  }

  /** Finds a project by its id. Operations that change a project don't accept its name. */
  function byId(id: string): Project {
    const project = projects.get(id);
    if (project.id === id) return project;
    throw new OperationError('project_not_found', `no project has the id ${id}: pass the project's id, not its name`);
  }
}
