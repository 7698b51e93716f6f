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

  /** The API key for a bearer token. `undefined` if the token is not valid. */
  identify(token: string): ApiKeyIdentity | undefined {
    return this.#apiKeys.find(token) ?? this.#ofLogin(token);
  }

  /** The token of a login flow works for two operations, as long as the API key that started the flow is valid. */
  #ofLogin(token: string): ApiKeyIdentity | undefined {
    const handoff = this.#handoffs.find(token);
    const apiKey = handoff && this.#apiKeys.findById(handoff.apiKeyId);
    if (!apiKey) return undefined;
    const path = `/auth/connections/${handoff.connectionId}`;
    return { ...apiKey, projectId: handoff.projectId, only: [`GET ${path}`, `POST ${path}/submit`] };
  }

  /** The key's project, else the project that the caller chose by a header, else the default project. */
  projectOf({ projectId }: ApiKeyIdentity, chosen: string | undefined): string {
    if (projectId !== undefined && chosen !== undefined && chosen !== projectId) {
      throw new OperationError(
        'forbidden',
        `the API key belongs to the project ${projectId}, but X-Kernel-Project-Id names ${chosen}: leave the header out`,
      );
    }
    const id = projectId ?? chosen;
    // The default project is always active.
    if (id === undefined) return this.#projects.defaultId();
    this.#projects.refuseInactive(id);
    return id;
  }
}
