import type { profiles } from '../../contract/profiles.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { ProfileStore } from '../store/profiles.ts';

export function profileHandlers(store: ProfileStore): HandlerTree<typeof profiles> {
  return {
    create: ({ body }) => store.create(body.name),
    list: ({ query }) => store.list(query),
    retrieve: ({ params }) => store.get(params.id_or_name),
    update: ({ params, body }) => store.rename(params.id_or_name, body.name),
    delete: ({ params }) => store.delete(params.id_or_name),
  };
}
