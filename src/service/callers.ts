import { OperationError } from '../contract/errors.ts';
import type { ApiKeyIdentity } from './http/handler.ts';
import type { ApiKeyStore } from './store/api-keys.ts';
import type { ProjectStore } from './store/projects.ts';

/** Tells by what a request carries who asks, and in which project. */
export class Callers {
  readonly #apiKeys: ApiKeyStore;
  readonly #projects: ProjectStore;

  constructor(apiKeys: ApiKeyStore, projects: ProjectStore) {
    this.#apiKeys = apiKeys;
    this.#projects = projects;
  }

  identify(token: string): ApiKeyIdentity | undefined {
    return this.#apiKeys.find(token);
  }

  /** The key's project, else the one that the caller chose, else the default one. */
  projectOf({ projectId }: ApiKeyIdentity, chosen: string | undefined): string {
    if (projectId !== undefined && chosen !== undefined && chosen !== projectId) {
      throw new OperationError('forbidden', `the API key belongs to the project ${projectId}, and X-Kernel-Project-Id names another one`);
    }
    const id = projectId ?? chosen;
    // Which is active: it is chosen from those.
    if (id === undefined) return this.#projects.defaultId();
    this.#projects.refuseInactive(id);
    return id;
  }
}
