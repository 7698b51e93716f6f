import type { credentialProviders as operations } from '../../contract/credential-providers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Vaults } from './vault.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { CredentialProviderStore } from './credential-providers.ts';

/** Handles the operations that manage credential providers, test them and list the logins in their vaults. */
export function credentialProviderHandlers(
  store: CredentialProviderStore,
  vaults: Vaults,
): HandlerTree<typeof operations> {
  return {
    create: ({ body }) => store.create(body),
    list: ({ query }) => store.list(query),
    retrieve: ({ params }) => store.get(params.id),
    update: ({ params, body }) => store.update(params.id, body),
    delete({ params }) {
      store.delete(params.id);
      vaults.forget(params.id);
    },
    async test({ params, signal }) {
      store.get(params.id);
      try {
        return { success: true, vaults: await vaults.vaults(store.access(params.id), signal) };
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
        return { success: false, vaults: [], error: error.message };
      }
    },
    listItems: async ({ params, signal }) => ({ items: await vaults.items(store.access(params.id), signal) }),
  };
}
