import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';

const browser = await puppeteer.connect({ browserWSEndpoint: process.env.PLAYWRIGHT_POOL_CDP_URL });
const page = await browser.newPage();
await page.setContent('<button onclick="this.textContent = Number(this.textContent) + 1">0</button>');
await page.click('button');
assert.equal(await page.$eval('button', (button) => button.textContent), '1');
await browser.disconnect();
console.log('passed');
