import { OperationError } from '../../contract/errors.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { Handoffs } from '../logins/handoffs.ts';
import type { ApiKeyStore } from './api-keys.ts';
import type { ProjectStore } from './projects.ts';

/** Finds the API key and the project of a request. */
export class Callers {
  readonly #apiKeys: ApiKeyStore;
  readonly #projects: ProjectStore;
  readonly #handoffs: Pick<Handoffs, 'find'>;

  constructor(apiKeys: ApiKeyStore, projects: ProjectStore, handoffs: Pick<Handoffs, 'find'>) {
    this.#apiKeys = apiKeys;
    this.#projects = projects;
    this.#handoffs = handoffs;
  }

  identify(token: string): ApiKeyIdentity | undefined {
    return this.#apiKeys.find(token) ?? this.#ofLogin(token);
  }

  /** The token of a login works as long as the API key that started the login. */
  #ofLogin(token: string): ApiKeyIdentity | undefined {
    const handoff = this.#handoffs.find(token);
    const apiKey = handoff && this.#apiKeys.findById(handoff.apiKeyId);
    if (!apiKey) return undefined;
    const path = `/auth/connections/${handoff.connectionId}`;
    return { ...apiKey, projectId: handoff.projectId, only: [`GET ${path}`, `POST ${path}/submit`] };
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
