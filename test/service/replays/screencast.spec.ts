import { PassThrough } from 'node:stream';
import { CdpConnection } from '../../../src/service/chromium/cdp/cdp-connection.ts';
import { PageInView } from '../../../src/service/sessions/screen/page-in-view.ts';
import { Screencast } from '../../../src/service/sessions/screen/screencast.ts';
import { expect, test } from '../../support/worker.ts';

type Command = { id: number; method: string; sessionId?: string };

/** The messages of Chromium for a start of a screencast: before its answer, as its answer, and after it. */
type Start = { before?: object; answer: object; after?: object };

const refused = { error: { code: -32_000, message: 'Not attached to an active page' } };
const started = { result: {} };

/**
 * The other end of a CDP pipe, where a page's screencast is started in an order that real Chromium has about once in a
 * hundred times.
 */
class ScriptedChromium {
  readonly cdp: CdpConnection;
  readonly methods: string[] = [];
  /** The width of the page. It doesn't answer without one. */
  width?: number;
  readonly #output = new PassThrough();
  readonly #starts: Start[];

  constructor(starts: Start[]) {
    this.#starts = starts;
    const input = new PassThrough();
    this.cdp = new CdpConnection(this.#output, input);
    input.on('data', (data: Buffer) => {
      const commands = data.toString().split('\0').filter(Boolean);
      for (const command of commands) this.#answer(JSON.parse(command) as Command);
    });
  }

  send(message: object): void {
    this.#output.write(`${JSON.stringify(message)}\0`);
  }

  #answer({ id, method, sessionId }: Command): void {
    this.methods.push(method);
    const targetInfo = { targetId: 'page', type: 'page' };
    if (method === 'Target.attachToTarget')
      this.send({ method: 'Target.attachedToTarget', params: { sessionId: 'session', targetInfo } });
    if (method === 'Page.getLayoutMetrics') {
      const cssLayoutViewport = { clientWidth: this.width, clientHeight: 720 };
      if (this.width !== undefined) this.send({ id, sessionId, result: { cssLayoutViewport } });
      return;
    }
    const start = method === 'Page.startScreencast' ? this.#starts.shift() : undefined;
    if (start?.before) this.send(start.before);
    this.send({ id, sessionId, ...(start?.answer ?? { result: { sessionId: 'session' } }) });
    if (start?.after) this.send(start.after);
  }
}

function frame(data: string, number: number): object {
  return { method: 'Page.screencastFrame', sessionId: 'session', params: { data, sessionId: number, metadata: {} } };
}

test('a refused screencast starts again, even if a frame of the earlier start arrives late', async () => {
  const chromium = new ScriptedChromium([
    { answer: started },
    { before: frame('old', 1), answer: refused },
    { answer: started, after: frame('new', 2) },
  ]);
  const { screencast, frames } = showPage(chromium);
  await expect.poll(() => frames).toEqual(['old', 'new']);
  await expect.poll(() => chromium.methods.filter((method) => method === 'Page.screencastFrameAck').length).toBe(2);
  screencast.stop();
  expect(chromium.methods.filter((method) => method === 'Page.startScreencast')).toHaveLength(3);
});

test('starts again for a page that was resized and sends no frame', async () => {
  const chromium = new ScriptedChromium([
    { answer: started, after: frame('scaled, because the page was resized during the start', 1) },
    { answer: started, after: frame('unscaled', 2) },
    { answer: started, after: frame('resized', 3) },
  ]);
  chromium.width = 1280;
  const { screencast, frames } = showPage(chromium);
  await expect.poll(() => frames.at(-1)).toBe('unscaled');
  chromium.width = 400;
  await expect.poll(() => frames.at(-1)).toBe('resized');
  screencast.stop();
});

function showPage(chromium: ScriptedChromium): { screencast: Screencast; frames: string[] } {
  const frames: string[] = [];
  const page = new PageInView(chromium.cdp, new Set());
  const settings = { maxWidth: 1280, maxHeight: 720, framerate: 1000 };
  const screencast = new Screencast(chromium.cdp, page, {
    ...settings,
    onFrame: (jpeg) => frames.push(jpeg),
    onEnd: () => {},
  });
  chromium.send({ method: 'Target.targetCreated', params: { targetInfo: { targetId: 'page', type: 'page' } } });
  return { screencast, frames };
}
