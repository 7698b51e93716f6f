import type { files } from '../../contract/files.ts';
import { SessionFiles } from '../browsers/files.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { HandlerTree } from '../http/handler.ts';

export function fileHandlers(sessions: HeldSessions): HandlerTree<typeof files> {
  const inFiles = <T>({ id }: { id: string }, use: (files: SessionFiles) => Promise<T>) =>
    sessions.use(id, ({ root }) => use(new SessionFiles(root)));

  return {
    async readFile({ params, query }) {
      const session = sessions.get(params.id);
      const file = await new SessionFiles(session.root).read(query.path);
      file.stream.once('close', sessions.keepActive(session));
      return file;
    },
    writeFile: ({ params, query, body, signal }) => inFiles(params, (files) => files.write(query.path, body, query.mode, signal)),
    listFiles: ({ params, query }) => inFiles(params, (files) => files.list(query.path)),
    fileInfo: ({ params, query }) => inFiles(params, (files) => files.info(query.path)),
    createDirectory: ({ params, body }) => inFiles(params, (files) => files.createDirectory(body.path, body.mode)),
    deleteFile: ({ params, body }) => inFiles(params, (files) => files.deleteFile(body.path)),
    deleteDirectory: ({ params, body }) => inFiles(params, (files) => files.deleteDirectory(body.path)),
    move: ({ params, body }) => inFiles(params, (files) => files.move(body.src_path, body.dest_path)),
    setFilePermissions: ({ params, body }) =>
      inFiles(params, (files) => files.setPermissions(body.path, body.mode, body.owner, body.group)),
  };
}
