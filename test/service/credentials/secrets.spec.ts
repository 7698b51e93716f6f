import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { CliProcess } from '../../support/service/service-process.ts';
import { credentials, custom, password, test, username } from '../../support/service/proxies.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { VaultServer } from '../../support/logins/vault.ts';

const token = 'ops_the-token-of-the-vault';
const pin = 'the PIN is 8642';
const totpSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

/** As they are, and as they travel. */
const secrets = [token, password, pin, totpSecret].flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
]);
const toldBy = (text: string | Buffer) =>
  [...secrets, Buffer.from(credentials).toString('base64')].filter((secret) => text.includes(secret));

for (const [title, isBrowsed] of [
  ['no secret appears in a file, the log, an answer or an audit record', false],
  ['no secret of a proxy appears when a session uses it @long', true],
] as const)
  test(title, async ({ guarded }, testInfo) => {
    const directory = dataDirectory(testInfo);
    await using vault = await VaultServer.start(token, [{ id: 'v1', name: 'Shared', items: [] }]);
    const cli = new CliProcess(['serve', '--port', '0', '--data-dir', directory], {
      env: { PLAYWRIGHT_POOL_API_KEY: '' },
    });
    try {
      const url = (await cli.firstLine()).replace('listening on ', '');
      const authorization = `Bearer ${(await readFile(join(directory, 'api-key'), 'utf8')).trim()}`;
      const call = async (method: string, path: string, body?: unknown) => {
        const sent = typeof body === 'string' ? body : JSON.stringify(body);
        const headers = { authorization, ...(sent !== undefined && { 'content-type': 'application/json' }) };
        const answer = await fetch(url + path, { method, headers, ...(sent !== undefined && { body: sent }) });
        const text = await answer.text();
        expect(answer.status, text).not.toBe(500);
        expect(toldBy(text + JSON.stringify([...answer.headers])), `${method} ${path}: ${text}`).toEqual([]);
        return text === '' ? undefined : JSON.parse(text);
      };
      const proxy = custom(guarded.port, { username, password });
      for (const [path, body] of [
        ['/credentials', { name: 'ann', domain: 'a.example', values: { password, pin }, totp_secret: totpSecret }],
        ['/org/credential_providers', { provider_type: 'onepassword', name: 'vault', token, address: vault.address }],
        ['/proxies', proxy],
      ] as const) {
        const { id } = await call('POST', path, body);
        const at = `${path}/${id}`;
        await call('GET', at);
        await call('GET', path);
        // The error leaves out the sent values.
        for (const sent of [
          body,
          { ...body, unknown: secrets },
          { ...body, name: [token, password], totp_secret: `${pin}!`, config: password, values: pin },
          JSON.stringify(body).slice(0, -2),
          `"${pin}${token}${password}"`,
        ])
          await call('POST', path, sent);
        const wrong = { values: { password: [password] }, totp_secret: `${totpSecret}1`, password };
        await call('PATCH', at, { name: 7, token: `${token} `, ...wrong });
        await call('GET', `${path}?query=x&password=${password}&token=${token}&secret=${totpSecret}`);
        await call('POST', `${at}/test`);
        await call('GET', `${at}/items`);
        await call('POST', `${at}/check`, {});
        await call('POST', `${at}/check`, { url: `http://shop.example/${token}`, password });
        await call('GET', `${at}/totp-code`);
        vault.answer = ({ headers }, response) =>
          response.writeHead(403, { 'www-authenticate': headers.authorization }).end(headers.authorization);
        await call('POST', `${at}/test`);
        vault.answer = ({ headers }, response) =>
          response.writeHead(302, { location: `/${headers.authorization}` }).end();
        await call('POST', `${at}/test`);
        await call('GET', `${at}/items`);
        vault.answer = undefined;
        if (path !== '/proxies' || !isBrowsed) continue;
        const session = await call('POST', '/browsers', { headless: true, proxy_id: id });
        const browser = await chromium.connectOverCDP(session.cdp_ws_url);
        await (await browser.newPage()).goto('http://shop.example/');
        await browser.close();
        await call('DELETE', `/browsers/${session.session_id}`);
        expect(guarded.requests).toContain('GET http://shop.example/');
      }
      const [start, end] = [-1, 1].map((hours) => new Date(Date.now() + hours * 3600_000).toISOString());
      const audited = async () => (await call('GET', `/audit-logs?start=${start}&end=${end}&limit=100`)).length;
      await expect.poll(audited).toBeGreaterThan(50);
      expect(await filesThatTell(directory)).toEqual([]);
    } finally {
      await cli[Symbol.asyncDispose]();
    }
    expect(vault.requests).toContain(`GET /v1/vaults Bearer ${token}`);
    expect(toldBy(cli.output)).toEqual([]);
    expect(await filesThatTell(directory)).toEqual([]);
  });

async function filesThatTell(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const told = await Promise.all(
    files.map(async (file) => toldBy(await readFile(file)).map((secret) => `${file}: ${secret}`)),
  );
  return told.flat();
}
