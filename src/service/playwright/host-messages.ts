/** The name of a Playwright host in messages for users. */
export const playwrightHost = "the Playwright host (the service's process between client and browser)";

/** The file descriptor by which a Playwright host receives tasks from the service. */
export const taskDescriptor = 3;

/**
 * A task of the service for a Playwright host, sent as one line of JSON. The host answers with a line of JSON, too.
 */
export type HostTask =
  | {
      /** Take the user id, the directory and the environment of a session. */
      joinSession: {
        user: { uid: number; gid: number } | undefined;
        directory: string;
        environment: Record<string, string>;
      };
    }
  /** Create a directory, and send requests through a proxy from now on. */
  | { prepare: { directory: string; proxyUrl: string } }
  /** Delete a directory. */
  | { remove: string }
  /** Launch a browser, and end with it. The host answers with a `Launched`. */
  | { launch: EngineLaunch };

/** `isForeign`: not a build of Playwright, so that the host must find out whether this Playwright understands it. */
export type EngineLaunch = {
  engine: 'firefox' | 'webkit';
  executable: string;
  isForeign: boolean;
  /** The URL of a proxy. */
  proxy?: string | undefined;
};

/** The address for clients of Playwright's protocol, and the browser's process id in the namespaces of its host. */
export type Launched = { endpoint: string; pid: number };

/** The answer to a task: `problem` if it failed. */
export type HostAnswer = { problem?: string; launched?: Launched };
/** A message names its method before its parameters. In bytes. */
const longestBeginning = 1024;

type Message = {
  method?: string;
  params?: { options?: Record<string, unknown>; proxy?: unknown; recordVideo?: { dir?: string } };
};

/**
 * Returns a client's message as the host gets it. `undefined` for one that is nested too deeply to be written as JSON again.
 * `proxyUrl` is set if the client exposes hosts.
 */
export function messageForHost(data: Buffer, proxyUrl?: string): Buffer | undefined {
  const beginning = data.subarray(0, longestBeginning);
  if (beginning.includes('"harStart"')) return changed(data, withoutHarPaths);
  if (beginning.includes('"newContext')) return changed(data, (message) => withOwnPlaces(message, proxyUrl));
  return data;
}

/** The JSON of the id of a message that starts recording a trace; `undefined` for other messages. */
export function startOfTrace(data: Buffer): string | undefined {
  const beginning = data.subarray(0, longestBeginning);
  if (!beginning.includes('"method":"tracingStartChunk"')) return undefined;
  return /^\{"id":("[\w@-]+"|\d+),/.exec(beginning.toString('latin1'))?.[1];
}

/** Whether a message of the host answers the one with this id, in JSON. An answer begins with the id. */
export function isAnswerTo(id: string, data: Buffer): boolean {
  const start = `{"id":${id},`;
  return data.toString('latin1', 0, start.length) === start;
}

/**
 * Removes the paths at which the client wants a HAR file. They are paths on the client's machine, and the host would write
 * there on its own. Without them, it sends the client an archive.
 */
function withoutHarPaths({ method, params }: Message): boolean {
  if (method !== 'harStart' || !params?.options) return false;
  delete params.options['harPath'];
  delete params.options['resourcesDir'];
  return true;
}

/**
 * Removes the directory of videos, a path on the client's machine: the host records in its own directory. Names the session's
 * local proxy, so that the host's own connections for client certificates reach exposed hosts too. A proxy of the client
 * stays: the session's tunnel takes exposed hosts from it.
 */
function withOwnPlaces({ method, params }: Message, server: string | undefined): boolean {
  if (!method?.startsWith('newContext') || !params) return false;
  const takesProxy = server !== undefined && params.proxy === undefined;
  if (takesProxy) params.proxy = { server };
  const hasDirectory = params.recordVideo?.dir !== undefined;
  if (hasDirectory) delete params.recordVideo!.dir;
  return takesProxy || hasDirectory;
}

/** The message after `change`, which returns whether it changed anything. */
function changed(data: Buffer, change: (message: Message) => boolean): Buffer | undefined {
  const message = parse(data);
  if (!message || !change(message)) return data;
  try {
    return Buffer.from(JSON.stringify(message));
  } catch {
    return undefined;
  }
}

/** `undefined` if it isn't JSON. The host refuses it. */
function parse(data: Buffer): Message | undefined {
  try {
    return JSON.parse(data.toString()) as Message;
  } catch {
    return undefined;
  }
}
