import { readFile } from 'node:fs/promises';
import { unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';

/** A certificate with its chain, and its private key: the paths of PEM files, or their texts. */
export type TlsPair = { cert: string; key: string };

/** Polling also sees the symbolic links that Kubernetes exchanges. */
const pollMs = 1000;

/** Reads a certificate and its key. Throws an error that names the files if they can't be used together. */
export async function readTls({ cert, key }: TlsPair): Promise<TlsPair> {
  try {
    const [certText, keyText] = await Promise.all([readFile(cert, 'utf8'), readFile(key, 'utf8')]);
    const pair = { cert: certText, key: keyText };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the certificate ${cert} with the key ${key} cannot be used: ${reason}`, { cause: error });
  }
}

/**
 * Calls `apply` with the certificate and the key each time their files have changed. While they don't fit together, the
 * service keeps the former ones: one file may be written before the other. Returns a function that stops.
 */
export function followTls(files: TlsPair, apply: (pair: TlsPair) => void): () => void {
  const reload = () =>
    void readTls(files).then(apply, (error: unknown) =>
      console.error(`the service keeps its former certificate: ${String(error)}`),
    );
  const paths = [files.cert, files.key];
  for (const path of paths) watchFile(path, { interval: pollMs, persistent: false }, reload);
  return () => {
    for (const path of paths) unwatchFile(path, reload);
  };
}
