import { text } from 'node:stream/consumers';
import { openPromise } from 'yauzl';

/** The files of a zip by name, each as text. */
export async function textsOfZip(path: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  const zip = await openPromise(path);
  for await (const entry of zip.eachEntry()) texts[entry.fileName] = await text(await zip.openReadStreamPromise(entry));
  return texts;
}

/** The files of a trace that come from browsers: calls and requests, without those of the runner. */
export async function textOfTrace(path: string): Promise<string> {
  const files = Object.entries(await textsOfZip(path));
  return files
    .filter(([name]) => /\.(trace|network)$/.test(name) && name !== 'test.trace')
    .map(([, content]) => content)
    .join('\n');
}
