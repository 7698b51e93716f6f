import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { expect, type Page } from '@playwright/test';
import { playerPage, type PlayerOptions } from '../../src/player/player.ts';
import { expectAccessible } from '../support/views/axe.ts';
import { lowestContrast } from '../support/views/contrast.ts';
import { test as base } from '../support/views/sample-video.ts';

type Fixtures = {
  /** Opens a player from a file, as a report's reader does. */
  open: (options?: Partial<PlayerOptions>, fragment?: string) => Promise<void>;
};

const test = base.extend<Fixtures>({
  open: async ({ page, videos }, use, testInfo) => {
    await use(async (options, fragment = '') => {
      const file = testInfo.outputPath('player.html');
      const shown = { title: 'buys a book', video: webm(videos.whole), chapters, ...options };
      await writeFile(file, playerPage(shown));
      // Another fragment alone would load nothing.
      await page.goto('about:blank');
      await page.goto(`${pathToFileURL(file).href}${fragment}`);
    });
  },
});

// The tests share the videos of one worker.
test.describe.configure({ mode: 'default' });

const chapters = [
  // It began before the video did.
  { title: 'Before Hooks', atMs: -300 },
  { title: 'Navigate to "/cart"', atMs: 1500, level: 1 },
  { title: 'Expect "toHaveText"', atMs: 4000 },
  { title: 'After Hooks', atMs: 9000 },
];
const withFailure = chapters.map((chapter) => ({ ...chapter, failed: chapter.atMs === 4000 }));

const webm = (bytes: Buffer) => ({ src: `data:video/webm;base64,${bytes.toString('base64')}`, type: 'video/webm' });
const video = (page: Page) => page.getByLabel('Recording');
const property = (page: Page, name: 'currentTime' | 'playbackRate' | 'paused' | 'duration' | 'readyState') =>
  video(page).evaluate((element, name) => (element as HTMLVideoElement)[name], name);
const expectTime = (page: Page, seconds: number) =>
  expect.poll(() => property(page, 'currentTime')).toBeCloseTo(seconds, 1);
const current = (page: Page) => page.locator('[aria-current]');

/** Presses a key, and expects the video to stand or play at this second. */
async function press(page: Page, key: string, second: number): Promise<void> {
  await page.keyboard.press(key);
  await expectTime(page, second);
}

test('shows the video, the chapters as a nested list, the notes and the error', async ({ page, open }) => {
  const later = { title: 'Much later', atMs: 3_607_000 };
  const notes = ['Recorded in worker 1.', 'The recording broke off.'];
  await open({ chapters: [...withFailure, later], notes, error: 'Error: expected 1\n\u001B[31mreceived 2\u001B[39m' });
  await expect(page).toHaveTitle('buys a book');
  await expect.poll(() => property(page, 'duration')).toBe(12);
  await expect(page.locator('body')).toMatchAriaSnapshot(`
    - banner:
      - heading "buys a book" [level=1]
      - paragraph: Recorded in worker 1.
      - paragraph: The recording broke off.
    - main:
      - text: Speed
      - combobox "Speed"
      - paragraph: /Keys/
      - navigation "Chapters":
        - heading "Chapters" [level=2]
        - list:
          - listitem:
            - button "0:00 Before Hooks"
            - list:
              - listitem:
                - button "0:01 Navigate to \\"/cart\\""
          - listitem:
            - button "0:04 Expect \\"toHaveText\\" failed"
          - listitem:
            - button "0:09 After Hooks"
          - listitem:
            - button "1:00:07 Much later"
      - region "Error":
        - heading "Error" [level=2]
        - text: "Error: expected 1 received 2"`);
});

test("seeks to a clicked chapter and to the link's second, and loads one page", async ({ page, open }, testInfo) => {
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url().slice(0, 10)));
  await open();
  await expect.poll(() => property(page, 'readyState')).toBeGreaterThan(0);
  expect((await readFile(testInfo.outputPath('player.html'), 'utf8')).length).toBeLessThan(30_000);
  await page.getByRole('button', { name: 'After Hooks' }).click();
  await expectTime(page, 9);
  await expect(current(page)).toHaveText(/After Hooks/);
  await page.getByRole('button', { name: 'Navigate' }).press('Enter');
  await expectTime(page, 1.5);
  await expect(current(page)).toHaveText(/Navigate/);
  expect(await property(page, 'paused')).toBe(true);

  await open({}, '#t=4.5');
  await expectTime(page, 4.5);
  for (const second of [7, 99]) {
    await page.evaluate((second) => (location.hash = `#t=${second}`), second);
    await expectTime(page, Math.min(second, 12));
  }
  expect(requests.filter((url) => !url.startsWith('data:') && !url.startsWith('file:'))).toEqual([]);
});

test('marks the current chapter and keeps it in view while the video plays', async ({ page, open }) => {
  await page.setViewportSize({ width: 1000, height: 400 });
  const steps = Array.from({ length: 60 }, (_, index) => ({ title: `step ${index}`, atMs: index * 200 }));
  await open({ chapters: steps }, '#t=9');
  await expect(current(page)).toHaveText(/step 45/);
  await expect(current(page)).toBeInViewport({ ratio: 1 });
  // The video must not end before the second press.
  await video(page).evaluate((element: HTMLVideoElement) => (element.playbackRate = 0.25));
  await page.keyboard.press('Space');
  await expect(current(page)).toHaveText(/step (4[7-9]|5)/);
  await expect(current(page)).toBeInViewport({ ratio: 1 });
  expect(await page.evaluate(() => scrollY)).toBe(0);
  await page.keyboard.press('Space');
  // A user may scroll the list until the next chapter begins.
  const list = page.getByRole('navigation');
  await list.evaluate((element) => (element.scrollTop = 0));
  await video(page).evaluate((element) => element.dispatchEvent(new Event('timeupdate')));
  expect(await list.evaluate((element) => element.scrollTop)).toBe(0);
  await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
  await page.evaluate(() => (location.hash = '#t=1'));
  await expect(current(page)).toHaveText(/step 5$/);
  await expect(current(page)).toBeInViewport({ ratio: 0.9 });
});

test('starts at the innermost failed step, or at the first coloured picture', async ({ page, open, videos }) => {
  const nested = [
    { title: 'passes', atMs: 0 },
    { title: 'fails', atMs: 1000, failed: true },
    { title: 'passes inside', atMs: 2000, level: 1 },
    { title: 'fails inside', atMs: 3000, level: 1, failed: true },
    { title: 'fails later', atMs: 5000, failed: true },
    { title: 'fails later inside', atMs: 6000, level: 1, failed: true },
  ];
  const withEnd = withFailure.map((chapter) => (chapter.failed ? { ...chapter, endMs: 9000 } : chapter));
  for (const [shown, fragment, second, title] of [
    [withFailure, '', 4, /toHaveText/],
    [nested, '', 3, /fails inside/],
    [withFailure, '#t=2', 2, /Navigate/],
    [withEnd, '', 8.9, /toHaveText/],
  ] as const) {
    await open({ chapters: [...shown] }, fragment);
    await expectTime(page, second);
    await expect(current(page)).toHaveText(title);
  }
  // Its first two seconds are white.
  await open({ video: webm(videos.white) });
  await expect.poll(() => property(page, 'currentTime')).toBeGreaterThanOrEqual(2);
  expect(await property(page, 'currentTime')).toBeLessThan(3);
});

test('shows the first picture, a frame and texts that contrast in light and dark colours', async ({ page, open }) => {
  await open();
  const colours = () =>
    video(page).evaluate((element) => {
      const context = new OffscreenCanvas(1, 1).getContext('2d')!;
      context.drawImage(element as HTMLVideoElement, 0, 0, 1, 1);
      return Array.from(context.getImageData(0, 0, 1, 1).data);
    });
  // The sample begins with red.
  await expect.poll(async () => (await colours())[0]).toBeGreaterThan(200);
  expect(await property(page, 'paused')).toBe(true);

  await open({ chapters: withFailure, notes: ['A note.'], error: 'Error: no' }, '#t=1');
  await expect(current(page)).toHaveCount(1);
  for (const [colorScheme, edge, sunken] of [
    ['light', 'rgb(117, 125, 137)', 'rgb(233, 236, 241)'],
    ['dark', 'rgb(127, 137, 150)', 'rgb(11, 13, 16)'],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await lowestContrast(page)).toBeGreaterThan(4.5);
    // A white picture has a visible edge.
    await expect(video(page)).toHaveCSS('border-top', `1px solid ${edge}`);
    await expect(video(page)).toHaveCSS('background-color', sunken);
  }
});

test('shows tenths of a second if needed, and marks the latest chapter in any order', async ({ page, open }) => {
  const times = page.getByRole('navigation').locator('span');
  await open({ chapters: [0, 0, 1000, 61_990].map((atMs) => ({ title: 'step', atMs })) });
  await expect(times).toHaveText(['0:00', '0:00', '0:01', '1:01']);
  await open({ chapters: [-300, 1500, 61_990, 62_000, 3_607_000].map((atMs) => ({ title: 'step', atMs })) });
  await expect(times).toHaveText(['0:00.0', '0:01.5', '1:01.9', '1:02.0', '1:00:07.0']);
  await open({ chapters: [5000, 2000, 8000].map((atMs) => ({ title: `at ${atMs}`, atMs })) }, '#t=6');
  await expect(current(page)).toHaveText(/at 5000/);
});

test('the keyboard plays, seeks, changes the speed and shows full screen', async ({ page, open }) => {
  await open();
  await expect.poll(() => property(page, 'readyState')).toBeGreaterThan(2);
  await page.keyboard.press('Space');
  await expect.poll(() => property(page, 'currentTime')).toBeGreaterThan(0.3);
  await page.keyboard.press('Space');
  expect(await property(page, 'paused')).toBe(true);
  await page.getByRole('button', { name: 'After Hooks' }).click();
  await press(page, 'ArrowLeft', 4);
  await press(page, 'ArrowRight', 9);
  for (const modifier of ['Control', 'Alt', 'Meta']) await page.keyboard.press(`${modifier}+ArrowRight`);
  expect(await property(page, 'currentTime')).toBeCloseTo(9, 1);
  await press(page, 'ArrowRight', 12);
  await page.keyboard.press('<');
  await expect(page.getByLabel('Speed')).toHaveValue('0.75');
  for (let press = 0; press < 9; press++) await page.keyboard.press('>');
  await expect(page.getByLabel('Speed')).toHaveValue('4');
  expect(await property(page, 'playbackRate')).toBe(4);
  await page.keyboard.press('f');
  await expect.poll(() => page.evaluate(() => document.fullscreenElement?.tagName)).toBe('VIDEO');
  await page.keyboard.press('f');
  await expect.poll(() => page.evaluate(() => document.fullscreenElement)).toBe(null);
});

test('each key has one effect in each place, and Tab reaches each control in visible order', async ({ page, open }) => {
  await open({ error: 'Error: no' });
  const focused: string[] = [];
  for (let press = 0; press < 20 && focused.at(-1) !== 'Error'; press++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const element = document.activeElement!;
      const label = element.getAttribute('aria-labelledby');
      const labelled =
        element instanceof HTMLSelectElement ? element.labels[0]!.firstChild : label && document.getElementById(label);
      return element.ariaLabel ?? (labelled || element.querySelector('bdi'))?.textContent?.trim() ?? element.tagName;
    });
    if (focused.at(-1) !== name) focused.push(name);
  }
  expect(focused).toEqual(['Recording', 'Speed', ...chapters.map(({ title }) => title), 'Error']);

  await expect.poll(() => property(page, 'readyState')).toBeGreaterThan(2);
  await video(page).focus();
  await press(page, 'ArrowRight', 5);
  await page.keyboard.press('Space');
  await expect.poll(() => property(page, 'paused')).toBe(false);
  await page.keyboard.press('Space');
  await expect.poll(() => property(page, 'paused')).toBe(true);
  await page.getByRole('button', { name: 'Navigate' }).focus();
  await press(page, 'Space', 1.5);
  expect(await property(page, 'paused')).toBe(true);
  // The list of speeds has keys of its own, and follows other controls.
  await page.getByLabel('Speed').focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByLabel('Speed')).toHaveValue('1.25');
  await page.locator('pre').focus();
  await page.keyboard.press('ArrowRight');
  expect(await property(page, 'currentTime')).toBeCloseTo(1.5, 1);
  await page.getByLabel('Speed').selectOption('0.25×');
  expect(await property(page, 'playbackRate')).toBe(0.25);
  await video(page).evaluate((element: HTMLVideoElement) => (element.playbackRate = 2));
  await expect(page.getByLabel('Speed')).toHaveValue('2');
});

test('seeks in a video without duration, and explains why a video cannot be played', async ({ page, open, videos }) => {
  await open({ video: webm(videos.open) }, '#t=4.5');
  await expectTime(page, 4.5);
  expect(await property(page, 'duration')).toBeCloseTo(11.8);
  await page.getByRole('button', { name: 'After Hooks' }).click();
  await expectTime(page, 9);
  await open({ video: webm(videos.open) });
  await expect.poll(() => property(page, 'duration')).toBeCloseTo(11.8);
  await expectTime(page, 0);
  await open({ video: webm(Buffer.alloc(3)), chapters: [] });
  await expect(page.getByRole('alert')).toContainText('cannot be played');
  await expect(page.getByRole('navigation')).toHaveCount(0);
});

test('shows texts with markup and scripts without running them', async ({ page, open }) => {
  const hostile = `</script></title></pre><img src=x onerror="alert(1)"><script>alert(2)</script>'"&amp;\u2028\u2029<!--`;
  const dialogs: string[] = [];
  page.on('dialog', async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  await open({ title: hostile, notes: [hostile], error: hostile, chapters: [{ title: hostile, atMs: 0 }] });
  await expect(page).toHaveTitle(hostile.replaceAll(/\s+/g, ' '));
  for (const locator of ['h1', 'header p', 'bdi', 'pre'])
    expect(await page.locator(locator).textContent()).toBe(hostile);
  await open({ video: { src: `x" onerror="alert(3)`, type: hostile } });
  await expect(page.getByRole('alert')).toContainText(`(${hostile.replaceAll(/\s+/g, ' ')})`);
  expect(dialogs).toEqual([]);
  await expect(page.locator('img, source[onerror]')).toHaveCount(0);
});

test('axe finds no accessibility problem in the player of a failed test @long', async ({ page, open }) => {
  await open({ chapters: withFailure, notes: ['A note.'], error: 'Error: no' }, '#t=1');
  await expect(current(page)).toHaveCount(1);
  await expectAccessible(page);
});

test('marks the current chapter in forced colours too, and fits on a phone', async ({ page, open }) => {
  await page.emulateMedia({ forcedColors: 'active' });
  await open({}, '#t=2');
  await expect(current(page)).toHaveText(/Navigate/);
  const barred = await page.locator('nav button').evaluateAll((buttons) => {
    const withBar = buttons.filter((button) => getComputedStyle(button).borderInlineStartWidth !== '0px');
    return withBar.map(({ ariaCurrent }) => ariaCurrent);
  });
  expect(barred).toEqual(['true']);
  await page.setViewportSize({ width: 320, height: 640 });
  const long = 'a_title_without_any_spaces_'.repeat(5);
  await open({ title: long, error: long, chapters: [{ title: long, atMs: 0, level: 3, failed: true }] });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  await expect(video(page)).toBeInViewport({ ratio: 1 });
});

test('a video of 30 MB in the page plays and seeks @long', async ({ page, open, videos }) => {
  // The player doesn't read the bytes after the last frame.
  const padded = Buffer.concat([videos.whole, voidElement(30 * 1024 * 1024)]);
  await open({ video: webm(padded) });
  await expect.poll(() => property(page, 'duration'), { timeout: 30_000 }).toBe(12);
  await page.getByRole('button', { name: 'After Hooks' }).click();
  await expectTime(page, 9);
});

/** An element of a WebM file that players skip. */
function voidElement(size: number): Buffer {
  const element = Buffer.alloc(size);
  element.writeUInt8(0xec, 0);
  element.writeUInt8(0x01, 1);
  element.writeUIntBE(size - 9, 3, 6);
  return element;
}
