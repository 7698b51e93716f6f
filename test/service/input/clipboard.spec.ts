import { expect } from '@playwright/test';
import { isLong } from '../../support/processes/long-form.ts';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { page, settings, test as base } from '../../support/service/browser-sessions.ts';
import { actionsOf } from '../../support/service/input-events.ts';
import { clipboardOf } from '../../../src/service/input/clipboard.ts';

/** Writes down what a page would notice of another one in front. */
const watchful = `
  <textarea>copied by the page</textarea>
  <script>
    window.noticed = [];
    for (const name of ['focus', 'blur', 'visibilitychange', 'pagehide']) {
      window.addEventListener(name, () => noticed.push(name), true);
      document.addEventListener(name, () => noticed.push(name), true);
    }
  </script>`;

const test = base.extend<{ command: string }>({
  command: ['', { option: true }],
  chromiumSettings: async ({ command }, use) => {
    if (command === '') return await use({});
    const executable = await findChromium(true, command, process.env).catch(() => undefined);
    test.skip(executable === undefined, `${command} is not installed`);
    await use({ executable: executable! });
  },
});

for (const [command, tag] of Object.entries({ 'chromium-headless-shell': [], chromium: ['@long'] })) {
  test.describe(command, { tag }, () => {
    test.use({ command });

    test('keys, commands, scripts and the service share one clipboard', async ({ session, site, connect }) => {
      const clipboard = clipboardOf(session);
      expect(await clipboard.read()).toBe('');
      for (const text of [
        'one',
        'grüße 😀\nline two\ttab "quoted" \u2028 \0',
        '',
        'x'.repeat(isLong ? 1_000_000 : 100_000),
      ]) {
        await clipboard.write(text);
        expect(await clipboard.read()).toBe(text);
      }
      await Promise.all(['a', 'b', 'c'].map((text) => clipboard.write(text)));
      expect(await clipboard.read()).toBe('c');

      const browser = await connect(session);
      const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
      const ours = await context.newPage();
      await ours.goto(await site(page('<textarea>from the page</textarea><canvas>')));
      const field = ours.locator('textarea');
      await field.selectText();
      await ours.keyboard.press('ControlOrMeta+c');
      expect(await clipboard.read()).toBe('from the page');
      await field.fill('by command');
      await field.selectText();
      await ours.evaluate(`document.execCommand('copy')`);
      expect(await clipboard.read()).toBe('by command');
      await ours.evaluate(`navigator.clipboard.writeText('by script')`);
      expect(await clipboard.read()).toBe('by script');

      await clipboard.write('from outside');
      await field.fill('');
      await ours.keyboard.press('ControlOrMeta+v');
      await expect(field).toHaveValue('from outside');
      expect(await ours.evaluate('navigator.clipboard.readText()')).toBe('from outside');

      // A picture is no text.
      await ours.evaluate(`
        new Promise((resolve) => document.querySelector('canvas').toBlob(resolve))
          .then((picture) => navigator.clipboard.write([new ClipboardItem({ 'image/png': picture })]))
      `);
      expect(await clipboard.read()).toBe('');

      await field.fill('');
      await field.focus();
      await useClipboard(session);
      await actionsOf(session).type({ text: 'in view' });
      await expect(field).toHaveValue('in view');
    });

    test('pages notice no use of the clipboard @long', async ({ session, site, connect, connectRaw, addressOf }) => {
      // With emulated focus.
      const url = await site(page(watchful));
      const browser = await connect(session);
      const ours = await browser.newPage();
      await ours.goto(url);
      await useClipboard(session);
      expect(await ours.evaluate('noticed')).toEqual([]);
      await ours.close();

      // And without.
      const raw = await connectRaw(addressOf(session));
      const { targetId } = await raw.send('Target.createTarget', { url });
      const { sessionId } = await raw.send('Target.attachToTarget', { targetId, flatten: true });
      const evaluate = async (expression: string) =>
        (await raw.send('Runtime.evaluate', { expression, returnByValue: true }, sessionId)).result.value;
      await expect.poll(() => evaluate('document.readyState')).toBe('complete');
      const before = await evaluate('({ focus: document.hasFocus(), visible: document.visibilityState })');
      await evaluate('noticed.length = 0');
      await clipboardOf(session).read();
      const fresh = await clipboardOf(session).read();
      expect(fresh).toBe('two');
      expect(await evaluate('noticed')).toEqual([]);
      expect(await evaluate('({ focus: document.hasFocus(), visible: document.visibilityState })')).toEqual(before);
    });
  });
}

test("a session's own clipboard survives a crash of the service's page", async ({ session, sessions }) => {
  const other = await sessions.create(settings);
  await clipboardOf(session).write('kept');
  expect(await clipboardOf(other).read()).toBe('');
  expect(await clipboardOf(session).read()).toBe('kept');

  const { cdp } = session;
  const { targetInfos } = await cdp.send('Target.getTargets', {});
  const { targetId } = targetInfos[0]!;
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  const isCrashed = new Promise<void>((resolve) => {
    cdp.onEvent(({ method }) => method === 'Target.targetCrashed' && resolve());
  });
  cdp.send('Page.crash', {}, { sessionId }).catch(() => {});
  await isCrashed;
  expect(await clipboardOf(session).read()).toBe('kept');

  await expect(clipboardOf(session).read(AbortSignal.abort(new Error('hung up')))).rejects.toThrow('hung up');
  const read = clipboardOf(session).read();
  const refused = expect(read).rejects.toMatchObject({ code: expect.stringMatching(/conflict|unavailable/) });
  await session.end();
  await refused;
});

async function useClipboard(session: LocalSession): Promise<void> {
  await clipboardOf(session).write('one');
  expect(await clipboardOf(session).read()).toBe('one');
  await clipboardOf(session).write('two');
  expect(await clipboardOf(session).read()).toBe('two');
}
