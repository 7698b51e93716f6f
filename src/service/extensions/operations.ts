import { createReadStream } from 'node:fs';
import { invalidField } from '../../contract/errors.ts';
import { extension, type extensions as operations, type loadExtensions } from '../../contract/extensions.ts';
import { answerOf } from '../database/answer-of.ts';
import { Upload } from '../files/upload.ts';
import { type Handler, type HandlerTree, pageOf } from '../http/handler.ts';
import { inSession } from '../sessions/in-session.ts';
import type { ExtensionFiles } from '../sessions/local/session-extensions.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { fetchFromStore, storeId } from './chrome-store.ts';
import { type ExtensionStore, extensionsTable } from './extensions.ts';
import { receiveArchive, unpackExtension } from './unpack.ts';

const answer = answerOf(extension, extensionsTable);

type Dependencies = {
  extensions: ExtensionStore;
  /** The address of the Chrome Web Store's update server. */
  chromeStore: string;
  /** `refuseInactive` throws if the project was deleted while an upload arrived. */
  projects: { refuseInactive(projectId: string): void };
};

/** Handles the operations that upload, list, download and delete extensions of Chromium. */
export function extensionHandlers({
  extensions: store,
  chromeStore,
  projects,
}: Dependencies): HandlerTree<typeof operations> {
  return {
    async upload({ body, caller, signal }) {
      const row = await store.add(
        caller.projectId,
        async (upload) => {
          const { file, name } = await body.receive((part) => receiveArchive(upload, part));
          projects.refuseInactive(caller.projectId);
          return { archive: file, name };
        },
        signal,
      );
      return answer(row);
    },

    list({ query, caller }) {
      const text = query.query?.toLowerCase();
      const found = store
        .list(caller.projectId)
        .filter(({ name = '' }) => query.name === undefined || sameName.compare(name, query.name) === 0)
        .filter(({ id, name = '' }) => text === undefined || id === query.query || name.toLowerCase().includes(text));
      const { items, ...page } = pageOf(found, query);
      return { items: items.map(answer), ...page };
    },

    async downloadFromChromeStore({ query: { url, os }, signal }) {
      const id = storeId(url);
      return { stream: await fetchFromStore(id, { store: chromeStore, os, signal }), fileName: `${id}.zip` };
    },

    download({ params, caller }) {
      const { id, name, size_bytes: size } = store.get(caller.projectId, params.id_or_name);
      return { stream: createReadStream(store.archiveOf(id)), size, fileName: `${name ?? id}.zip` };
    },

    retrieve: ({ params, caller }) => answer(store.get(caller.projectId, params.id_or_name)),
    delete: ({ params, caller }) => store.delete(store.get(caller.projectId, params.id_or_name).id),
  };
}

/** Handles the operation that uploads extensions and loads them into a running session. */
export function extensionLoader(store: ExtensionStore, sessions: Sessions): Handler<typeof loadExtensions> {
  return async ({ body, signal, ...request }) => {
    await inSession(sessions, request, (session) =>
      store.withDirectory(async (root) => {
        await using upload = await Upload.start(root, signal);
        const { extensions } = await body.receive((part) => receiveArchive(upload, part));
        if (new Set(extensions.map(({ name }) => name)).size < extensions.length)
          throw invalidField('extensions', 'two of them have the same name: give each another name');
        const files: ExtensionFiles[] = [];
        for (const [index, { name, zip_file: archive }] of extensions.entries()) {
          const destination = String(index);
          await unpackExtension(upload, archive, { root, destination });
          files.push({ name, directory: `${root}/${destination}` });
        }
        await session.loadExtensions(files, signal);
      }),
    );
    return undefined;
  };
}

/** Ignores case and accents, as the interface demands. */
const sameName = new Intl.Collator('und', { sensitivity: 'base', usage: 'search' });
