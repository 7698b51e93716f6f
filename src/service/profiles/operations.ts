import type { Profile, profiles } from '../../contract/profiles.ts';
import type { ProfileDirectories } from './profile-directories.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { ProfileStore } from './profiles.ts';

type Profiles = {
  store: ProfileStore;
  directories: ProfileDirectories;
  /** Called after a profile got a new name. */
  onRenamed: (projectId: string, profile: Profile & { name: string }, before: string | undefined) => Promise<void>;
};

/** The handlers of the profile operations. */
export function profileHandlers({ store, directories, onRenamed }: Profiles): HandlerTree<typeof profiles> {
  return {
    create: ({ body, caller }) => store.create(caller.projectId, body),
    list: ({ query, caller }) => store.list(caller.projectId, query),

    async retrieve({ params, caller }) {
      const profile = store.get(caller.projectId, params.id_or_name);
      return { ...profile, storage_origins: await directories.storageOrigins(profile.id) };
    },

    async update({ params, body, caller: { projectId } }) {
      const { id, name: before } = store.get(projectId, params.id_or_name);
      const profile = store.update(projectId, id, body);
      await onRenamed(projectId, { ...profile, name: body.name }, before ?? undefined);
      return profile;
    },

    async upload({ params, body, signal, caller }) {
      await directories.receive(store.get(caller.projectId, params.id_or_name).id, body, signal);
    },

    delete: ({ params, caller }) => directories.delete(store.get(caller.projectId, params.id_or_name).id),

    async download({ params, query, caller }) {
      // Loaded on first use, so that the service starts faster.
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
