import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { isLong } from '../../support/processes/long-form.ts';
import { test } from '../shared-service.ts';

const depth = isLong ? 2_000_000 : 200_000;
const { version } = createRequire(import.meta.url)('@playwright/test/package.json') as { version: string };

test('playwright/execute refuses a result that is nested too deeply', async ({ service: { call }, session }) => {
  const execute = (code: string) => call('POST', `/browsers/${session.session_id}/playwright/execute`, { code });
  // Code can write any report itself.
  const written = `
    const { writeSync } = await import('node:fs');
    const report = Buffer.from('{"result":' + '['.repeat(${depth}) + ']'.repeat(${depth}) + '}\\n');
    for (let at = 0; at < report.length; )
      try { at += writeSync(3, report, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
    process.exit(0);`;
  expect(await execute(written)).toMatchObject({
    status: 200,
    body: { success: false, error: 'the result is nested more than 1000 levels deep: return a flatter one' },
  });
  const returned = 'let value = []; for (let depth = 0; depth < 1e5; depth += 1) value = [value]; return value';
  expect(await execute(returned)).toMatchObject({
    status: 200,
    body: { success: false, error: expect.stringContaining('nested too deeply') },
  });
  const flat = `return JSON.parse('['.repeat(900) + '"[[\\\\\\\\"' + ']'.repeat(900))`;
  expect(await execute(flat)).toMatchObject({ status: 200, body: { success: true } });
});

test('a too deep message to a Playwright host closes only its connection', async ({ service: { call }, session }) => {
  const headers = { 'user-agent': `Playwright/${version} (x64; test)` };
  const socket = new WebSocket(session.playwright_ws_url!, { headers });
  await once(socket, 'open');
  const closed = once(socket, 'close');
  const deep = '['.repeat(depth) + ']'.repeat(depth);
  socket.send(`{"id":1,"guid":"a","method":"harStart","params":{"options":{"a":${deep}}}}`);
  expect((await closed)[0]).toBe(1007);
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
});
