import { OperationError } from '../../contract/errors.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { ApiKeyStore } from './api-keys.ts';
import type { ProjectStore } from './projects.ts';

/** Finds the API key and the project of a request. */
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
      throw new OperationError(
        'forbidden',
        `the API key belongs to the project ${projectId}, and X-Kernel-Project-Id names another one`,
      );
    }
    const id = projectId ?? chosen;
    // The default project is always active.
    if (id === undefined) return this.#projects.defaultId();
    this.#projects.refuseInactive(id);
    return id;
  }
}
