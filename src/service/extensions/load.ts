import type { loadExtensions } from '../../contract/extensions.ts';
import { invalidField } from '../../contract/errors.ts';
import { Upload } from '../files/upload.ts';
import type { Handler } from '../http/handler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import type { ExtensionFiles } from '../sessions/local/session-extensions.ts';
import type { ExtensionStore } from './extensions.ts';
import { receiveArchive, unpackExtension } from './unpack.ts';

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
