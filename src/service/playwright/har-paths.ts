const method = '"harStart"';
/** A message names its method before its parameters. In bytes. */
const longestBeginning = 1024;

type Message = { method?: string; params?: { options?: Record<string, unknown> } };

/**
 * Returns a client's message to the host without the paths at which the client wants a HAR file. They are paths on the client's
 * machine, and the host would write there on its own. Without them, it sends the client an archive. Returns `undefined` for
 * a message that is nested too deeply to be written as JSON again.
 */
export function withoutHarPaths(data: Buffer): Buffer | undefined {
  if (!data.subarray(0, longestBeginning).includes(method)) return data;
  const message = parse(data);
  if (message?.method !== 'harStart' || !message.params?.options) return data;
  delete message.params.options['harPath'];
  delete message.params.options['resourcesDir'];
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
