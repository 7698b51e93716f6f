import type { profiles } from '../../contract/profiles.ts';
import type { Pools } from '../browsers/pools.ts';
import type { ProfileDirectories } from '../browsers/profile-directories.ts';
import type { Sessions } from '../browsers/sessions.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { ProfileStore } from '../store/profiles.ts';

type Profiles = { store: ProfileStore; directories: ProfileDirectories; pools: Pools; sessions: Sessions };

export function profileHandlers({ store, directories, pools, sessions }: Profiles): HandlerTree<typeof profiles> {
  return {
    create: ({ body, caller }) => store.create(caller.projectId, body.name),
    list: ({ query, caller }) => store.list(caller.projectId, query),
    retrieve: ({ params, caller }) => store.get(caller.projectId, params.id_or_name),

    async update({ params, body, caller: { projectId } }) {
      const { id, name: before } = store.get(projectId, params.id_or_name);
      const profile = store.rename(projectId, id, body.name);
      sessions.profileRenamed(profile);
      if (before) await pools.profileRenamed(projectId, before, body.name);
      return profile;
    },

    delete: ({ params, caller }) => directories.delete(store.get(caller.projectId, params.id_or_name).id),

    async download({ params, query, caller }) {
      // Loaded when it is used: the service starts faster without it.
      const { pack } = await import('../../archive/index.ts');
      const { id, name } = store.get(caller.projectId, params.id_or_name);
      const stored = directories.read(id);
      if (!stored) return undefined;
      const stream = pack(stored.directory, { compression: query.format === 'tar' ? 'none' : 'zstd' });
      stream.once('close', () => void stored.release());
      return { stream, fileName: `${name ?? id}.${query.format}` };
    },
  };
}
