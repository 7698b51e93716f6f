import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const browser = await chromium.connect(process.env.PLAYWRIGHT_POOL_WS_URL);
const page = await browser.newPage();
await page.setContent('<button onclick="this.textContent = Number(this.textContent) + 1">0</button>');
await page.getByRole('button').click();
assert.equal(await page.getByRole('button').textContent(), '1');
await browser.close();
console.log('passed');
