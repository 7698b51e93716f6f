import { chromium } from '@playwright/test';
import { executable } from './stock.ts';

// `node playwright-server.js` starts Playwright's own server with a browser, and prints its URL.

const server = await chromium.launchServer({ executablePath: executable, host: '127.0.0.1', wsPath: '/' });
console.log(server.wsEndpoint());
server.on('close', () => process.exit());
process.stdin.resume().once('end', () => void server.close());
