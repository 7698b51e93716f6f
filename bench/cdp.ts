import { once } from 'node:events';
import { WebSocket } from 'ws';
import { interleaved, type Comparison } from './comparison.ts';
import { DebuggingPort } from './debugging-port.ts';
import { ServerProcess } from './server-process.ts';
import { ServiceProcess } from './service.ts';

export const runs = 5;

const evaluates = 2000;
const largeResult = 20_000_000;
const ofSmall = `${evaluates} small evaluates through the service, against Chromium's port`;

/** Compares CDP through the service with the debugging port of another Chromium of the same build. */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  const { cdp_ws_url } = await service.client.browsers.create({});
  using proxied = await CdpPage.open(cdp_ws_url);
  await using port = await DebuggingPort.open();
  using direct = await CdpPage.open(port.url);
  const small = await interleaved(runs, {
    ours: () => timeSmall(proxied),
    other: () => timeSmall(direct),
  });
  const large = await interleaved(runs, {
    ours: () => timeLarge(proxied),
    other: () => timeLarge(direct),
  });
  return [
    { measure: ofSmall, unit: 'ms', ...small },
    { measure: "a result of 20 MB through the service, against Chromium's port", unit: 'ms', ...large },
  ];
}

/** Connects through a process that copies bytes. */
export async function limits(): Promise<Comparison[]> {
  await using port = await DebuggingPort.open();
  await using relay = await ServerProcess.start('relay.js', port.url);
  using relayed = await CdpPage.open(relay.url);
  using direct = await CdpPage.open(port.url);
  const small = await interleaved(runs, {
    ours: () => timeSmall(relayed),
    other: () => timeSmall(direct),
  });
  return [{ measure: ofSmall, unit: 'ms', ...small }];
}

async function timeSmall(page: CdpPage): Promise<number> {
  const started = performance.now();
  for (let count = 0; count < evaluates; count++) await page.evaluate('1 + 1');
  return performance.now() - started;
}

async function timeLarge(page: CdpPage): Promise<number> {
  const started = performance.now();
  const length = await page.evaluate(`'x'.repeat(${largeResult})`);
  if (length < largeResult) throw new Error('the result is incomplete');
  return performance.now() - started;
}

/** A new page on its own CDP connection. */
class CdpPage implements Disposable {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (message: string) => void>();
  #sessionId: string | undefined;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      const id = Number(/^\{"id":(\d+)/.exec(text)?.[1]);
      this.#answers.get(id)?.(text);
      this.#answers.delete(id);
    });
  }

  static async open(url: string): Promise<CdpPage> {
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 0 });
    await once(socket, 'open');
    const page = new CdpPage(socket);
    const { targetId } = page.#result(await page.#send('Target.createTarget', { url: 'about:blank' }));
    const { sessionId } = page.#result(await page.#send('Target.attachToTarget', { targetId, flatten: true }));
    page.#sessionId = sessionId;
    return page;
  }

  /** Returns the length of the answer. */
  async evaluate(expression: string): Promise<number> {
    const answer = await this.#send('Runtime.evaluate', { expression, returnByValue: true });
    return answer.length;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  async #send(method: string, params: object): Promise<string> {
    const id = ++this.#lastId;
    const answer = new Promise<string>((resolve) => this.#answers.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params, ...(this.#sessionId && { sessionId: this.#sessionId }) }));
    return await answer;
  }

  #result(answer: string): Record<string, string> {
    return (JSON.parse(answer) as { result: Record<string, string> }).result;
  }
}
