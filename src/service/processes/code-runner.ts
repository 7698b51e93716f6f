import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import type { BrowserContext, BrowserType, Page } from '@playwright/test';
import { sendRequestsThrough } from '../playwright/host-requests.ts';
import { compiledCode } from './compiled-code.ts';
import type { CodeReport, CodeTask } from './playwright-code.ts';
import { blockOutputs, channelDescriptor } from './child-messages.ts';

/**
 * The program of the process that runs a caller's Playwright code for `browsers.playwright.execute`, under the user of
 * its session. It ends when the code ends. The service kills it if the code takes too long.
 */
blockOutputs();
const service = new Socket({ fd: channelDescriptor });
service.on('error', () => {});
service.once('close', () => process.exit(1));
const [line] = (await once(createInterface(service), 'line')) as [string];
const report = await run(JSON.parse(line) as CodeTask).catch(described);
service.write(`${serialized(report)}\n`, () => process.exit(0));

async function run({ code, cdpUrl, pageTargets, playwright, proxyUrl, loader }: CodeTask): Promise<CodeReport> {
  const compiled = await compiledCode(code, loader);
  sendRequestsThrough(proxyUrl);
  const { chromium } = createRequire(import.meta.url)(playwright) as { chromium: BrowserType };
  const browser = await chromium.connectOverCDP(cdpUrl);
  const context = browser.contexts()[0] ?? (await browser.newContext());
  const page = (await firstPage(context, pageTargets)) ?? (await context.newPage());
  return { result: await compiled(page, context, browser) };
}

/** The page that was opened first. Playwright lists the pages of a connected browser in any order. */
async function firstPage(context: BrowserContext, pageTargets: string[]): Promise<Page | undefined> {
  const pages = context.pages();
  if (pages.length < 2) return pages[0];
  const places = await Promise.all(pages.map(async (page) => pageTargets.indexOf(await targetOf(page))));
  return pages[places.indexOf(Math.min(...places.filter((place) => place !== -1)))] ?? pages[0];
}

async function targetOf(page: Page): Promise<string> {
  const cdp = await page.context().newCDPSession(page);
  const { targetInfo } = await cdp.send('Target.getTargetInfo');
  await cdp.detach();
  return targetInfo.targetId;
}

/** The report as JSON. A result that JSON can't express, such as a cycle, counts as a failure of the code. */
function serialized(report: CodeReport): string {
  try {
    return JSON.stringify('result' in report ? { result: jsonOf(report.result) } : report);
  } catch (error) {
    const isTooDeep = error instanceof RangeError && /call stack/.test(error.message);
    if (!isTooDeep) return JSON.stringify(described(error));
    const message = 'the result is nested too deeply to be written as JSON: return a flatter one';
    return JSON.stringify({ failure: { message, stack: '' } } satisfies CodeReport);
  }
}

function jsonOf(value: unknown): unknown {
  return JSON.stringify(value) === undefined ? null : value;
}

function described(error: unknown): CodeReport {
  if (!(error instanceof Error)) return { failure: { message: inspect(error), stack: '' } };
  return { failure: { message: error.message, stack: error.stack ?? '' } };
}
