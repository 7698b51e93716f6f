import type { files } from '../../contract/files.ts';
import { extractZip } from '../browsers/extract-zip.ts';
import { SessionFiles } from '../browsers/files.ts';
import { packZip } from '../browsers/pack-zip.ts';
import { Upload } from '../browsers/upload.ts';
import { Watches } from '../browsers/watches.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { HandlerTree } from '../http/handler.ts';

export function fileHandlers(sessions: HeldSessions): HandlerTree<typeof files> {
  const watches = new Watches();
  const inFiles = <T>({ id }: { id: string }, use: (files: SessionFiles) => Promise<T>) =>
    sessions.use(id, ({ root }) => use(new SessionFiles(root)));
  const inUpload = (params: { id: string }, signal: AbortSignal, use: (upload: Upload) => Promise<void>) =>
    sessions.use(params.id, async ({ root }) => {
      await using upload = await Upload.start(root, signal);
      await use(upload);
    });

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
    async downloadDirZip({ params, query }) {
      const session = sessions.get(params.id);
      const stream = await packZip(session.root, query.path);
      stream.once('close', sessions.keepActive(session));
      return { stream };
    },
    upload: ({ params, body, signal }) =>
      inUpload(params, signal, async (upload) => {
        const { files } = await body.receive((file) => upload.receive(file));
        await upload.place(files.map(({ file, dest_path }) => ({ received: file, sessionPath: dest_path })));
      }),
    uploadZip: ({ params, body, signal }) =>
      inUpload(params, signal, async (upload) => {
        const { zip_file, dest_path } = await body.receive((file) => upload.receive(file));
        await extractZip(upload, zip_file, dest_path);
      }),
    watch: {
      start: ({ params, body }) => sessions.use(params.id, async (session) => ({ watch_id: await watches.start(session, body) })),
      events: ({ params, signal }) => sessions.use(params.id, (session) => watches.get(session, params.watch_id).events(signal)),
      stop: ({ params }) => sessions.use(params.id, (session) => watches.stop(session, params.watch_id)),
    },
  };
}
