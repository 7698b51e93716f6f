import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { OperationError } from '../../../contract/errors.ts';
import type { TextClipboard } from '../../sessions/screen/shown-browser.ts';
import { ClientConnection } from './client-connection.ts';
import { openHost } from '../relay.ts';

const timeoutMs = 10_000;
const page = `<textarea></textarea><script>
  var text = '';
  document.oncopy = (event) => { event.clipboardData.setData('text/plain', text); event.preventDefault(); };
  document.onpaste = (event) => { text = event.clipboardData.getData('text/plain'); event.preventDefault(); };
</script>`;

/**
 * The text clipboard of a browser without CDP. Copies and pastes in a page of its own, which no client sees: the Playwright
 * host shows each client its own contexts only, and closes them when it leaves.
 */
export class EngineClipboard implements TextClipboard {
  readonly #endpoint: () => string;
  readonly #ended: AbortSignal;
  readonly #inTurn = pLimit(1);

  /** `endpoint` returns the current address for clients of Playwright's protocol. */
  constructor(endpoint: () => string, ended: AbortSignal) {
    this.#endpoint = endpoint;
    this.#ended = ended;
  }

  async read(signal?: AbortSignal): Promise<string> {
    return await this.#with(signal, async ({ press, run }) => {
      await press('ControlOrMeta+V');
      return await run('text');
    });
  }

  async write(text: string, signal?: AbortSignal): Promise<void> {
    await this.#with(signal, async ({ press, run }) => {
      await run(`text = ${JSON.stringify(text)}`);
      await press('ControlOrMeta+C');
    });
  }

  async #with<T>(aborted: AbortSignal | undefined, act: (page: ClipboardPage) => Promise<T>): Promise<T> {
    return await this.#inTurn(async () => {
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([timeout, this.#ended, ...(aborted === undefined ? [] : [aborted])]);
      setMaxListeners(0, signal);
      const host = await openHost(this.#endpoint());
      try {
        return await act(await openPage(host, signal));
      } catch (cause) {
        if (signal.aborted && !timeout.aborted) throw signal.reason;
        const problem = timeout.aborted ? `did not answer within ${timeoutMs / 1000} s` : 'cannot be used';
        throw new OperationError('unavailable', `the clipboard of the session ${problem}`, { cause });
      } finally {
        host.terminate();
      }
    });
  }
}

type ClipboardPage = {
  press: (keys: string) => Promise<unknown>;
  /** Returns the text that the expression yields. */
  run: (expression: string) => Promise<string>;
};

async function openPage(host: Awaited<ReturnType<typeof openHost>>, signal: AbortSignal): Promise<ClipboardPage> {
  let [browser, mainFrame] = ['', ''];
  const connection = new ClientConnection((message) => host.send(message), {
    opened: (opened) => (mainFrame = opened.mainFrame),
  });
  host.on('message', (data: Buffer) => {
    browser ||= /"preLaunchedBrowser":\{"guid":"([^"]+)"/.exec(data.toString())?.[1] ?? '';
    connection.takes(data);
  });
  host.once('close', () => connection.close());
  host.resume();
  const ask = (guid: string, method: string, params: object) => connection.ask(guid, method, params, { signal });
  await ask('', 'initialize', { sdkLanguage: 'javascript' });
  const { context } = (await ask(browser, 'newContext', {})) as { context: { guid: string } };
  const opened = (await ask(context.guid, 'newPage', {})) as { page: { guid: string } };
  await ask(mainFrame, 'setContent', { html: page, waitUntil: 'load' });
  await ask(mainFrame, 'focus', { selector: 'textarea', strict: true });
  return {
    press: (key) => ask(opened.page.guid, 'keyboardPress', { key }),
    run: async (expression) => {
      const arg = { value: { v: 'undefined' }, handles: [] };
      const { value } = (await ask(mainFrame, 'evaluateExpression', { expression, isFunction: false, arg })) as {
        value: { s: string };
      };
      return value.s;
    },
  };
}
