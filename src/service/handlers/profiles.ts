import { pack } from '../../archive/index.ts';
import type { profiles } from '../../contract/profiles.ts';
import type { ProfileDirectories } from '../browsers/profile-directories.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { ProfileStore } from '../store/profiles.ts';

type Profiles = { store: ProfileStore; directories: ProfileDirectories };

export function profileHandlers({ store, directories }: Profiles): HandlerTree<typeof profiles> {
  return {
    create: ({ body }) => store.create(body.name),
    list: ({ query }) => store.list(query),
    retrieve: ({ params }) => store.get(params.id_or_name),
    update: ({ params, body }) => store.rename(params.id_or_name, body.name),
    delete: ({ params }) => directories.delete(store.get(params.id_or_name).id),

    download({ params, query }) {
      const { id, name } = store.get(params.id_or_name);
      const stored = directories.read(id);
      if (!stored) return undefined;
      const stream = pack(stored.directory, { compression: query.format === 'tar' ? 'none' : 'zstd' });
      stream.once('close', () => void stored.release());
      return { stream, fileName: `${name ?? id}.${query.format}` };
    },
  };
}
