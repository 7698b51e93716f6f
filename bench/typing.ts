import { chromium, type Page } from '@playwright/test';
import type { Client } from 'playwright-pool/client';
import { Pool } from 'undici';
import { interleaved, interleavedWithoutWarmUp, type Comparison, type Sides } from './comparison.ts';
import { ServerProcess } from './server-process.ts';
import { ServiceProcess } from './service.ts';

export const runs = 3;

const keys = 'The quick brown fox jumps over it. 0123456789 '.repeat(250).slice(0, 10_000);
const letters = 'äöüß日本語éàç'.repeat(1000).slice(0, 10_000);
const pausedKeys = keys.slice(0, 1000);
const delay = 1;
const ofLetters = '10,000 characters without keys, against keyboard.insertText';

type Field = { id: string; client: Client; page: Page };

/** Compares typing by the session's machine with Playwright's keyboard, in the same page of the same browser. */
export async function run(runs: number): Promise<Comparison[]> {
  return await withField(async (field) => {
    const { page } = field;
    // One run is enough: it takes half a minute and hardly varies.
    const typed = await interleavedWithoutWarmUp(
      1,
      sides(field, { text: keys }, () => page.keyboard.type(keys)),
    );
    const inserted = await interleaved(
      10 * runs,
      sides(field, { text: letters }, () => page.keyboard.insertText(letters)),
    );
    const paused = await interleavedWithoutWarmUp(
      Math.min(runs, 2),
      sides(field, { text: pausedKeys, delay }, () => page.keyboard.type(pausedKeys, { delay })),
    );
    return [
      { measure: '10,000 characters that keys type, against keyboard.type', unit: 'ms', ...typed },
      { measure: ofLetters, unit: 'ms', ...inserted },
      { measure: '1,000 characters with a delay of 1 ms, against keyboard.type', unit: 'ms', ...paused },
    ];
  });
}

/** Measures the lower limit of our figure: an HTTP call that does nothing, then `insertText`. */
export async function limits(): Promise<Comparison[]> {
  await using server = await ServerProcess.start('json-server.js');
  const pool = new Pool(server.url);
  const callNothing = async () => {
    const { body } = await pool.request({ method: 'POST', path: '/', body: JSON.stringify({ text: letters }) });
    await body.json();
  };
  try {
    return await withField(async (field) => {
      const insert = () => field.page.keyboard.insertText(letters);
      const inserted = await interleaved(10 * runs, {
        ours: () => timeToType(field, letters, () => callNothing().then(insert)),
        other: () => timeToType(field, letters, insert),
      });
      return [{ measure: ofLetters, unit: 'ms', ...inserted }];
    });
  } finally {
    await pool.close();
  }
}

async function withField<T>(use: (field: Field) => Promise<T>): Promise<T> {
  await using service = await ServiceProcess.start();
  const { client } = service;
  const { session_id: id, cdp_ws_url } = await client.browsers.create({});
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  try {
    const page = await browser.newPage();
    await page.setContent('<textarea autofocus rows="20" cols="120"></textarea>');
    return await use({ id, client, page });
  } finally {
    await browser.close();
  }
}

function sides(field: Field, body: { text: string; delay?: number }, byPlaywright: () => Promise<void>): Sides {
  const { id, client } = field;
  return {
    ours: () => timeToType(field, body.text, () => client.browsers.computer.typeText(id, body)),
    other: () => timeToType(field, body.text, byPlaywright),
  };
}

/** Returns the milliseconds until `type` has ended. Throws if the field doesn't have the text then. */
async function timeToType({ page }: Field, text: string, type: () => Promise<unknown>): Promise<number> {
  const textarea = page.locator('textarea');
  await textarea.fill('');
  await textarea.focus();
  const started = performance.now();
  await type();
  const took = performance.now() - started;
  if ((await textarea.inputValue()) !== text) throw new Error("the field doesn't have the typed text");
  return took;
}
