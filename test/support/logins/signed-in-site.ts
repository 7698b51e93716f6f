import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The site of examples/signed-in, in its own process. */
export type SignedInSite = {
  url: string;
  /** Its identity provider. */
  providerUrl: string;
  /** The sent messages, newest first. */
  inbox(): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function startSignedInSite(): Promise<SignedInSite> {
  const main = fileURLToPath(new URL('../../../examples/signed-in/server.mjs', import.meta.url));
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const [url, providerUrl] = line.toString().match(/http:[^,\s]+/g) as [string, string];
  return {
    url,
    providerUrl,
    async inbox() {
      const page = await (await fetch(`${url}/inbox`)).text();
      return Array.from(page.matchAll(/<span>(.*?)<\/span>/g), ([, text]) => text!);
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
