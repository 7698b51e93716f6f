import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';
import { violations } from '../../support/service/conformance.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { known, type FuzzedRequest } from './fuzzed-requests.ts';

/**
 * The answer to a fuzzed request, and the contract's objections to it. `status` is undefined if the service was still
 * working or answering when the time was over.
 */
export type FuzzedAnswer = { path: string; status: number | undefined; text: string; violations: string[] };

/** How long to wait for an answer, in ms: some requests ask for long waits. */
const patienceMs = 1500;

/** A service process with something of each kind in it, as a target of requests. */
export class FuzzTarget implements AsyncDisposable {
  readonly call: Call;
  readonly cli: CliProcess;
  readonly #url: string;
  readonly #apiKey: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  /** The ids of existing things, newest first, by the name of their collection in paths, for example `browsers`. */
  readonly #ids = new Map<string, string[]>();

  private constructor(cli: CliProcess, url: string, apiKey: string) {
    this.cli = cli;
    this.#url = url;
    this.#apiKey = apiKey;
    this.call = callerOf({ url, apiKey });
  }

  static async start(dataDirectory: string): Promise<FuzzTarget> {
    const apiKey = 'key-of-the-fuzzed-service';
    const cli = new CliProcess(['serve', '--data-dir', dataDirectory], { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
    const url = (await cli.firstLine()).replace(/^listening on /, '');
    return new FuzzTarget(cli, url, apiKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.cli[Symbol.asyncDispose]();
  }

  /** Memory in MiB, and the number of open files, of the service's process. Linux only. */
  usage(): { memory: number; files: number } {
    const directory = `/proc/${this.cli.child.pid}`;
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`${directory}/status`, 'utf8'))?.[1]);
    return { memory: Math.round(kilobytes / 1024), files: readdirSync(`${directory}/fd`).length };
  }

  /** Lets requests name something of a collection. */
  keep(collection: string, id: string): void {
    const ids = this.#ids.get(collection) ?? [];
    this.#ids.set(collection, [id, ...ids.filter((other) => other !== id)].slice(0, 3));
  }

  forget(collection: string, id: string): void {
    this.#ids.set(collection, this.#ids.get(collection)?.filter((other) => other !== id) ?? []);
  }

  has(collection: string): boolean {
    return (this.#ids.get(collection)?.length ?? 0) > 0;
  }

  /** Sends a request. */
  async send(fuzzed: FuzzedRequest): Promise<FuzzedAnswer> {
    const path = this.#withKnownIds(fuzzed.path);
    const answer = await this.#answerTo(fuzzed, path);
    if (!answer) return { path, status: undefined, text: '', violations: [] };
    const { message, text } = answer;
    const { method } = fuzzed;
    const status = message.statusCode!;
    const headers = new Headers(message.headers as Record<string, string>);
    return {
      path,
      status,
      text,
      violations: method === 'HEAD' ? [] : violations({ method, path, status, headers, text }),
    };
  }

  /** Rejects if the service closes the connection. */
  async #answerTo(
    { method, headers, body }: FuzzedRequest,
    path: string,
  ): Promise<{ message: IncomingMessage; text: string } | undefined> {
    const { hostname, port } = new URL(this.#url);
    return await new Promise((resolve, reject) => {
      const sent = request({
        hostname,
        port,
        path,
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          ...(body !== undefined && { 'content-length': body.length }),
          ...headers,
        },
      });
      const timer = setTimeout(() => {
        resolve(undefined);
        sent.destroy();
      }, patienceMs);
      const fail = (error: Error & { code?: string }) => {
        clearTimeout(timer);
        // A HEAD request whose headers are so large that the service could not parse it.
        if (method === 'HEAD' && error.code === 'HPE_CLOSED_CONNECTION') resolve(undefined);
        else reject(error);
      };
      sent.on('error', fail);
      sent.on('response', (message) => {
        const chunks: Buffer[] = [];
        message.on('data', (chunk: Buffer) => chunks.push(chunk));
        message.on('error', fail);
        message.on('end', () => {
          clearTimeout(timer);
          resolve({ message, text: Buffer.concat(chunks).toString() });
        });
      });
      sent.end(body);
    });
  }

  #withKnownIds(path: string): string {
    const segments = path.split('/');
    return segments
      .map((segment, at) => segment.replace(known, () => this.#ids.get(segments[at - 1] ?? '')?.[0] ?? 'nowhere'))
      .join('/');
  }
}
