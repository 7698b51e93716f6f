import type { Readable } from 'node:stream';
import type { files } from '../../contract/files.ts';
import { SessionFiles } from './files.ts';
import { Upload } from './upload.ts';
import type { Watches } from './watches.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { HandlerTree } from '../http/handler.ts';
import { inSession, local, type SessionRequest } from '../sessions/in-session.ts';

type Dependencies = { sessions: Sessions; watches: Watches };

/**
 * Handles the operations on a session's files: read, write, list, move, upload, download and watch. Loads the code for
 * zip files on first use, so that the service starts faster.
 */
export function fileHandlers({ sessions, watches }: Dependencies): HandlerTree<typeof files> {
  const inFiles = <T>(request: SessionRequest, use: (files: SessionFiles) => Promise<T>) =>
    inSession(sessions, request, ({ root }) => use(new SessionFiles(root)));
  const inUpload = (request: SessionRequest & { signal: AbortSignal }, use: (upload: Upload) => Promise<void>) =>
    inSession(sessions, request, async ({ root, lease }) => {
      // The next lease has the same root.
      await using upload = await Upload.start(root, AbortSignal.any([request.signal, lease.signal]));
      await use(upload);
    });
  /** The session stays active until the stream is read. */
  const whileRead = async <T extends { stream: Readable }>(
    { caller, params }: SessionRequest,
    open: (root: string) => Promise<T>,
  ) => {
    const session = local(sessions.getIn(caller.projectId, params.id));
    await session.confirm();
    const opened = await open(session.root);
    opened.stream.once('close', session.keepActive());
    return opened;
  };

  return {
    readFile: ({ query, ...request }) => whileRead(request, (root) => new SessionFiles(root).read(query.path)),
    writeFile: ({ query, body, ...request }) =>
      inSession(sessions, request, ({ root, lease }) => {
        const signal = AbortSignal.any([request.signal, lease.signal]);
        return new SessionFiles(root).write(query.path, body, query.mode, signal, query.mod_time);
      }),
    listFiles: ({ query, ...request }) => inFiles(request, (files) => files.list(query.path)),
    fileInfo: ({ query, ...request }) => inFiles(request, (files) => files.info(query.path)),
    createDirectory: ({ body, ...request }) => inFiles(request, (files) => files.createDirectory(body.path, body.mode)),
    deleteFile: ({ body, ...request }) => inFiles(request, (files) => files.deleteFile(body.path)),
    deleteDirectory: ({ body, ...request }) => inFiles(request, (files) => files.deleteDirectory(body.path)),
    move: ({ body, ...request }) => inFiles(request, (files) => files.move(body.src_path, body.dest_path)),
    setFilePermissions: ({ body, ...request }) =>
      inFiles(request, (files) => files.setPermissions(body.path, body.mode, body.owner, body.group)),
    downloadDirZip: ({ query, ...request }) =>
      whileRead(request, async (root) => {
        const { packZip } = await import('./pack-zip.ts');
        return { stream: await packZip(root, query.path) };
      }),
    upload: ({ body, ...request }) =>
      inUpload(request, async (upload) => {
        const { files } = await body.receive((file) => upload.receive(file));
        await upload.place(files.map(({ file, dest_path }) => ({ received: file, sessionPath: dest_path })));
      }),
    uploadZip: ({ body, ...request }) =>
      inUpload(request, async (upload) => {
        const { zip_file, dest_path } = await body.receive((file) => upload.receive(file));
        const { extractZip } = await import('./extract-zip.ts');
        await extractZip(upload, zip_file, dest_path);
      }),
    watch: {
      start: ({ body, ...request }) =>
        inSession(sessions, request, async (session) => ({ watch_id: await watches.start(session, body) })),
      events: (request) =>
        inSession(sessions, request, (session) => watches.get(session, request.params.watch_id).events(request.signal)),
      stop: (request) => inSession(sessions, request, (session) => watches.stop(session, request.params.watch_id)),
    },
  };
}
