import { text } from 'node:stream/consumers';
import { openPromise } from 'yauzl';

/** All texts in a zip file. */
export async function textsOfZip(path: string): Promise<string> {
  const texts: string[] = [];
  const zip = await openPromise(path);
  for await (const entry of zip.eachEntry()) texts.push(await text(await zip.openReadStreamPromise(entry)));
  return texts.join('\n');
}
