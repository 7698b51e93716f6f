import { invalidField, OperationError } from '../../contract/errors.ts';

/** The update server of the Chrome Web Store. */
export const chromeStore = 'https://clients2.google.com/service/update2/crx';

const storeHosts: ReadonlySet<string> = new Set(['chromewebstore.google.com', 'chrome.google.com']);
/** The longest time of a download, in ms. */
const downloadMs = 60_000;
/** The longest header of signatures before the archive, in bytes. */
const longestHeader = 1024 ** 2;

/** Reads an extension's id from the address of its page in the store. Throws `bad_request` for another address. */
export function storeId(address: string): string {
  const { hostname, pathname } = new URL(address);
  const id = /\/detail\/(?:[^/]+\/)?([a-p]{32})\/?$/.exec(pathname)?.[1];
  if (id !== undefined && storeHosts.has(hostname)) return id;
  throw invalidField('url', 'must be the page of an extension, https://chromewebstore.google.com/detail/NAME/ID');
}

/**
 * Fetches an extension from the store, and returns the zip archive in it. The service sends only the id, and only to
 * `store`. Throws `bad_request` if the store doesn't have it, and `unavailable` if the store can't be reached.
 */
export async function fetchFromStore(
  id: string,
  { store, os, signal }: { store: string; os: string; signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  const url = new URL(store);
  const wanted = { response: 'redirect', os, arch: 'x64', prodversion: '9999.0.9999.0', acceptformat: 'crx3' };
  url.search = new URLSearchParams({ ...wanted, x: `id=${id}&installsource=ondemand&uc` }).toString();
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(downloadMs)]) }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw unreachable((error as Error & { cause?: Error }).cause?.message ?? String(error), error);
    },
  );
  if (answer.status === 204 || answer.status === 404)
    throw invalidField('url', `the Chrome Web Store has no extension ${id} for ${os}`);
  if (answer.status !== 200 || !answer.body) throw unreachable(`the store answered with the status ${answer.status}`);
  return await archiveIn(answer.body.values());
}

/** Reads the header of a CRX3 file, and returns the zip archive behind it. */
async function archiveIn(chunks: AsyncIterableIterator<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  let read = Buffer.alloc(0);
  const atLeast = async (size: number) => {
    while (read.length < size) {
      const { value, done } = await chunks.next();
      if (done) throw unreachable('the downloaded file is incomplete');
      read = Buffer.concat([read, value]);
    }
  };
  await atLeast(12);
  const headerSize = read.readUInt32LE(8);
  if (read.toString('latin1', 0, 4) !== 'Cr24' || read.readUInt32LE(4) !== 3 || headerSize > longestHeader) {
    await chunks.return?.();
    throw unreachable('the downloaded file is not an extension in the format CRX3');
  }
  await atLeast(12 + headerSize);
  const first = read.subarray(12 + headerSize);
  return (async function* () {
    yield first;
    yield* chunks;
  })();
}

function unreachable(problem: string, cause?: unknown): OperationError {
  return new OperationError(
    'unavailable',
    `the extension could not be downloaded from the Chrome Web Store: ${problem}. Check that the service can reach the internet`,
    { cause },
  );
}
