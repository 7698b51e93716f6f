import { Duplex } from 'node:stream';
import { mostStreams } from '../../tunnel/streams.ts';
import { UnreachableError } from '../chromium/network/exposure.ts';
import { newId } from '../process/id.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { Carrier } from './client-exposure.ts';

/** The client's end of the carrier. */
export type SocksClient = {
  /** Sends a message. Calls `sent` when it has left, or with the error. */
  send(message: string, sent: (error?: Error | null) => void): void;
  /** Counts the bytes that wait for the browser. */
  waiting: Claim;
  /** Called when the tunnel takes messages again. */
  drained(): void;
};

/** An object of Playwright's protocol names its id at the beginning of its messages. In bytes. */
const longestBeginning = 256;
const openTimeoutMs = 30_000;
/** While this many bytes wait for the browser, the service reads nothing from the client, until half of them have left. */
const mostUnread = 16 * 1024 * 1024;
/** The client's commands wait for the browser while the connection with the most bytes moves. Else it is cut after this time. */
const checkMs = 2000;
/** After so many checks it is cut in any case. A session whose client waits for 10 s may end by its idle timeout. */
const mostChecks = 4;
/** The memory that a waiting part takes besides its bytes, in bytes. */
const perPart = 256;
const noClient = 'the tunnel to the test machine is not connected at the moment';

type Message = { guid?: unknown; method?: unknown; params?: { [name: string]: unknown } };

/**
 * Carries connections of a browser as messages of Playwright's own protocol, which its clients understand if they were called
 * with `exposeNetwork`: they belong to an object of the type `SocksSupport`, and their bytes are base64.
 *
 * Clients have no window per connection. So one that the browser doesn't read delays all messages of the client.
 */
export class SocksTunnel implements Carrier {
  readonly #guid = `socks-support@${newId()}`;
  readonly #matches: (hostname: string, port: number) => boolean;
  readonly #bytes: SocketBytes;
  readonly #streams = new Map<string, SocksStream>();
  #client: SocksClient | undefined;
  #lastUid = 0;
  #unread = 0;
  #isFull = false;
  #cutting: NodeJS.Timeout | undefined;

  /** `matches` is the client's own check of hosts. */
  constructor(matches: (hostname: string, port: number) => boolean, bytes: SocketBytes) {
    this.#matches = matches;
    this.#bytes = bytes;
  }

  /** Whether the client must wait because the browser reads too slowly. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Connects the client, when its first message shows that it listens. */
  attach(client: SocksClient): void {
    this.#client = client;
    const params = { type: 'SocksSupport', guid: this.#guid, initializer: {} };
    client.send(JSON.stringify({ guid: '', method: '__create__', params }), () => {});
  }

  open(authority: string): { stream: Duplex; opened: Promise<void> } {
    if (!this.#client) throw new UnreachableError(noClient);
    if (this.#streams.size >= mostStreams)
      throw new UnreachableError(`the tunnel has ${mostStreams} connections already, which is the limit`);
    this.#lastUid += 1;
    const uid = String(this.#lastUid);
    const stream = new SocksStream({
      send: (data, sent) => {
        this.#bytes.count({ sent: data.length });
        this.#send('socksData', { uid, data: data.toString('base64') }, sent);
      },
      taken: (bytes) => this.#taken(bytes),
      closed: () => {
        this.#streams.delete(uid);
        this.#send('socksClosed', { uid });
      },
    });
    const late = () => stream.fail(`no connection (timed out after ${openTimeoutMs / 1000} s)`);
    const timer = setTimeout(late, openTimeoutMs).unref();
    stream.opened.catch(() => {}).finally(() => clearTimeout(timer));
    this.#streams.set(uid, stream);
    const { hostname, port } = new URL(`http://${authority}`);
    this.#send('socksRequested', { uid, host: this.#dialed(hostname, Number(port || 80)), port: Number(port || 80) });
    return { stream, opened: stream.opened };
  }

  /** Whether a message of the client belongs to the tunnel, which takes it then. */
  takes(data: Buffer): boolean {
    if (!data.subarray(0, longestBeginning).includes(this.#guid)) return false;
    const { guid, method, params } = parsed(data);
    if (guid !== this.#guid) return false;
    const stream = this.#streams.get(String(params?.['uid']));
    if (stream) this.#receive(stream, method, params ?? {});
    return true;
  }

  end(): void {
    for (const stream of this.#streams.values()) stream.destroy();
    clearTimeout(this.#cutting);
    this.#client = undefined;
  }

  destroy(): void {
    this.end();
  }

  #receive(stream: SocksStream, method: unknown, { data, errorCode, error }: NonNullable<Message['params']>): void {
    if (method === 'socksConnected') stream.connected();
    else if (method === 'socksFailed') stream.fail(`no connection (${readable(errorCode)})`);
    else if (method === 'socksError') stream.fail(readable(error));
    else if (method === 'socksEnd') stream.finish();
    else if (method === 'socksData' && typeof data === 'string') this.#pass(Buffer.from(data, 'base64'), stream);
  }

  #pass(bytes: Buffer, stream: SocksStream): void {
    if (bytes.length === 0) return;
    this.#bytes.count({ received: bytes.length });
    const counted = bytes.length + perPart;
    try {
      this.#client?.waiting.take(counted);
    } catch (error) {
      return stream.fail((error as Error).message);
    }
    this.#unread += counted;
    stream.receive(bytes);
    if (this.#isFull || this.#unread < mostUnread) return;
    this.#isFull = true;
    this.#cutLater();
  }

  #taken(bytes: number): void {
    this.#client?.waiting.release(bytes);
    this.#unread -= bytes;
    if (!this.#isFull || this.#unread > mostUnread / 2) return;
    this.#isFull = false;
    clearTimeout(this.#cutting);
    this.#client?.drained();
  }

  #cutLater(check = 1): void {
    for (const stream of this.#streams.values()) stream.isMoving = false;
    this.#cutting = setTimeout(() => {
      const [largest] = [...this.#streams.values()].toSorted((one, other) => other.unread - one.unread);
      const isCut = !largest?.isMoving || check === mostChecks;
      if (isCut) largest?.fail('the page left too many bytes unread');
      if (this.#isFull) this.#cutLater(isCut ? 1 : check + 1);
    }, checkMs).unref();
  }

  /** Clients pass the host to Node, which knows no names such as `app.localhost`, and no brackets. They check its name. */
  #dialed(hostname: string, port: number): string {
    const isLocal = hostname === '[::1]' || hostname.endsWith('.localhost');
    return isLocal && this.#matches('localhost', port) ? 'localhost' : hostname.replace(/^\[|\]$/g, '');
  }

  #send(method: string, params: object, sent: (error?: Error | null) => void = () => {}): void {
    if (this.#client) this.#client.send(JSON.stringify({ guid: this.#guid, method, params }), sent);
    else sent(new Error(noClient));
  }
}

type StreamOptions = {
  send: (data: Buffer, sent: (error?: Error | null) => void) => void;
  /** Called when counted bytes have left the stream. */
  taken: (bytes: number) => void;
  closed: () => void;
};

/** One connection. Clients drop bytes that they get before it is open, and have no message for the end of the bytes. */
class SocksStream extends Duplex {
  readonly opened: Promise<void>;
  /** Whether the browser has read bytes since this was set to `false`. */
  isMoving = false;
  readonly #options: StreamOptions;
  readonly #parts: Buffer[] = [];
  #open!: () => void;
  #refuse!: (error: Error) => void;
  #unread = 0;
  #isWanted = false;
  #isFinished = false;

  constructor(options: StreamOptions) {
    super();
    this.#options = options;
    this.opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#refuse = reject;
    });
    this.opened.catch(() => {});
    this.on('error', () => {});
  }

  /** The counted bytes that wait for the browser. */
  get unread(): number {
    return this.#unread;
  }

  connected(): void {
    this.#open();
  }

  receive(bytes: Buffer): void {
    this.#unread += bytes.length + perPart;
    this.#parts.push(bytes);
    this.#pass();
  }

  /** The server has closed the connection. */
  finish(): void {
    this.#isFinished = true;
    this.#pass();
  }

  fail(reason: string): void {
    this.destroy(new UnreachableError(reason));
  }

  override _read(): void {
    this.#isWanted = true;
    this.#pass();
  }

  override _write(bytes: Buffer, _encoding: string, sent: (error?: Error | null) => void): void {
    this.opened.then(() => this.#options.send(bytes, sent), sent);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#refuse(error ?? new UnreachableError(noClient));
    this.#parts.length = 0;
    this.#release(this.#unread);
    this.#options.closed();
    done(error);
  }

  #pass(): void {
    while (this.#isWanted && this.#parts.length > 0) {
      const bytes = this.#parts.shift()!;
      this.#release(bytes.length + perPart);
      this.#isWanted = this.push(bytes);
    }
    if (this.#isFinished && this.#parts.length === 0 && !this.destroyed) this.push(null);
  }

  #release(bytes: number): void {
    this.#unread -= bytes;
    this.isMoving = true;
    this.#options.taken(bytes);
  }
}

/** An empty message if it isn't JSON. */
function parsed(data: Buffer): Message {
  try {
    return (JSON.parse(data.toString()) ?? {}) as Message;
  } catch {
    return {};
  }
}

/** A reason of the client, cut to 200 characters: it may send anything. */
function readable(reason: unknown): string {
  return typeof reason === 'string' ? reason.slice(0, 200) : 'unknown reason';
}
