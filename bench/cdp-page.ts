import { once } from 'node:events';
import { WebSocket } from 'ws';

/** A new page on its own CDP connection. */
export class CdpPage implements Disposable {
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

  /** The time of `count` small evaluates in turn, in milliseconds. */
  async timeEvaluates(count: number): Promise<number> {
    const started = performance.now();
    for (let done = 0; done < count; done++) await this.evaluate('1 + 1');
    return performance.now() - started;
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
