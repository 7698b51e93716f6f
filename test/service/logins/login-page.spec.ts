import { expect } from '@playwright/test';
import { totpCode } from '../../../src/service/credentials/totp.ts';
import { WatchedPage } from '../../../src/service/logins/robot/watched-page.ts';
import { page as html } from '../../support/service/browser-sessions.ts';
import { asked, test } from '../../support/logins/login-page.ts';

test('finds the login form from the front page, and reports a wrong password @long', async ({ signedIn, open }) => {
  const { host } = new URL(signedIn.url);
  const page = await open({ domain: host });
  const form = asked(await page.state());
  expect(form.url).toBe(`${signedIn.url}/login`);
  expect(form.fields.map(({ id, type, label }) => ({ id, type, label }))).toEqual([
    { id: 'username', type: 'identifier', label: 'User name' },
    { id: 'password', type: 'password', label: 'Password' },
  ]);
  expect(form.choices).toMatchObject([{ type: 'sso_provider', provider: 'keyring', label: 'Sign in with Keyring' }]);
  for (let attempt = 0; attempt < 2; attempt++) {
    const refused = asked(await page.submit({ values: { username: 'alice', password: 'mad hatter' } }));
    expect(refused.website_error).toBe('The user name or the password is wrong.');
  }
  const right = { values: { username: 'alice', password: 'wonderland' } };
  expect(await page.submit(right)).toEqual({ kind: 'logged_in', url: `${signedIn.url}/` });

  const known = { domain: host, loginUrl: `${signedIn.url}/login`, postLoginUrl: `${signedIn.url}/` };
  expect(await (await open(known)).state()).toMatchObject({ kind: 'logged_in' });
  await fetch(`${signedIn.url}/drop`, { method: 'POST' });
  expect(await (await open(known)).state()).toMatchObject({ kind: 'asks' });
});

test('logs in with two steps, a choice of delivery, a wrong and a right code @long', async ({ signedIn, open }) => {
  const page = await open({ domain: new URL(signedIn.url).host, loginUrl: `${signedIn.url}/two-step` });
  const submit = async (values: Record<string, string>) => asked(await page.submit({ values }));
  expect(asked(await page.state()).fields).toMatchObject([{ id: 'username' }]);
  expect((await submit({ username: 'nobody' })).website_error).toBe('There is no account with this name.');
  expect((await submit({ username: 'bob' })).fields).toMatchObject([{ id: 'password' }]);
  const { choices } = await submit({ password: 'builder' });
  expect(choices).toMatchObject([
    { type: 'mfa_method', mfa_type: 'sms', target: '•••• 42' },
    { type: 'mfa_method', mfa_type: 'email', target: 'b•••@example.com' },
  ]);
  const { fields } = asked(await page.submit({ choice_id: choices[0]!.id }));
  expect(fields).toMatchObject([{ id: 'code', type: 'code', linked_mfa_type: 'sms' }]);
  expect((await submit({ code: '12' })).website_error).toBe('This code is wrong or has expired.');
  const [sent] = await signedIn.inbox();
  expect(await page.submit({ values: { code: /\d{6}/.exec(sent!)![0] } })).toMatchObject({ kind: 'logged_in' });
});

test('logs in with a one-time code of an authenticator app @long', async ({ signedIn, open }) => {
  const page = await open({ domain: new URL(signedIn.url).host, loginUrl: `${signedIn.url}/login` });
  const { fields } = asked(await page.submit({ values: { username: 'carol', password: 'looking glass' } }));
  expect(fields).toMatchObject([{ id: 'code', type: 'totp_code', input_type: 'totp' }]);
  const { code } = totpCode('JBSWY3DPEHPK3PXP', Date.now());
  expect(await page.submit({ values: { code } })).toMatchObject({ kind: 'logged_in' });
});

test("opens an identity provider's page only if its domain is allowed @long", async ({ signedIn, open }) => {
  const [site, provider] = [new URL(signedIn.url).host, new URL(signedIn.providerUrl).host];
  const loginUrl = `${signedIn.url}/login`;
  const page = await open({ domain: site, loginUrl, allowedDomains: [provider] });
  const { choices } = asked(await page.state());
  const { fields, url } = asked(await page.submit({ choice_id: choices[0]!.id }));
  expect(new URL(url).host).toBe(provider);
  expect(fields.map(({ label }) => label)).toEqual(['Keyring name', 'Keyring password']);
  const right = { values: { username: 'dave', password: 'griffin' } };
  expect(await page.submit(right)).toEqual({ kind: 'logged_in', url: `${signedIn.url}/` });

  await fetch(`${signedIn.url}/drop`, { method: 'POST' });
  const strict = await open({ domain: site, loginUrl });
  await strict.state();
  await expect(strict.submit({ choice_id: 'keyring' })).rejects.toMatchObject({
    code: 'domain_not_allowed',
    message: expect.stringContaining(provider),
  });
});

test('triggers frameworks, fills code boxes one by one, and waits for an approval @long', async ({ open, site }) => {
  const url = await site(
    html(`<h1>Log in</h1><div id="app"></div><script>
    const state = { user: '', pw: '' };
    const login = () => {
      app.innerHTML = '<form><label>User <input id="u"></label><label>Password <input id="p" type="password"></label><div id="e" class="error-text"></div><button disabled>Log in</button></form>';
      u.oninput = () => { state.user = u.value; check() };
      p.oninput = () => { state.pw = p.value; check() };
      const button = app.querySelector('button');
      const check = () => { button.disabled = !(state.user && state.pw) };
      app.querySelector('form').onsubmit = (event) => {
        event.preventDefault();
        button.disabled = true;
        setTimeout(() => {
          if (state.pw !== 'Pä$$ w0rd-パ') { e.textContent = 'Wrong password for ' + state.user + ': ' + state.pw; button.disabled = false; return; }
          code();
        }, 700);
      };
    };
    const code = () => {
      app.innerHTML = '<h2>Enter the code</h2><div>' + '<input maxlength="1" style="width:30px" inputmode="numeric">'.repeat(6) + '</div>';
      const boxes = [...app.querySelectorAll('input')];
      boxes.forEach((box, index) => { box.oninput = () => { boxes[index + 1]?.focus(); if (boxes.every((b) => b.value)) { if (boxes.map((b) => b.value).join('') === '135790') approve() } } });
    };
    const approve = () => {
      app.innerHTML = '<p>Approve the sign-in on your phone.</p>';
      setTimeout(() => { document.cookie = 'session=1'; document.body.innerHTML = '<h1>Home</h1><button>Log out</button>' }, 2500);
    };
    login();
  </script>`),
  );
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  const { fields } = asked(await page.state());
  expect(fields.map(({ label }) => label)).toEqual(['User', 'Password']);
  const refused = asked(await page.submit({ values: { username: 'queen', password: 'off with' } }));
  expect(refused.website_error).toBe('Wrong password for …: …');
  const code = asked(await page.submit({ values: { username: 'queen', password: 'Pä$$ w0rd-パ' } }));
  expect(code.fields).toMatchObject([{ id: 'code', label: 'Enter the code' }]);
  const waiting = await page.submit({ values: { code: '135790' } });
  const form = { external_action_message: 'Approve the sign-in on your phone.' };
  expect(waiting).toMatchObject({ kind: 'external_action', form });
  expect(await page.changed(AbortSignal.timeout(20_000))).toMatchObject({ kind: 'logged_in' });
});

test("fills a login form in another site's frame only if that site is allowed @long", async ({ open, site }) => {
  const form = `<form method="post" action="/done" target="_top"><label>User <input name="u"></label><label>Password <input type="password" name="p"></label><button>Log in</button></form>`;
  let body = '';
  const url = await site((request, response) => {
    const isFrame = request.headers.host?.startsWith('127.0.0.1');
    if (request.method === 'POST') {
      request
        .on('data', (chunk) => (body += chunk))
        .on('end', () => response.writeHead(303, { location: url, 'set-cookie': 'sid=1; HttpOnly' }).end());
      return;
    }
    if (request.headers.cookie?.includes('sid')) return html('<a href="/logout">Log out</a>')(request, response);
    html(
      isFrame
        ? `<div style="height:900px"></div>${form}`
        : `<h1>Hello</h1><div style="height:300px"></div><iframe style="margin-left:40px;width:400px;height:250px" src="${other}/frame"></iframe>`,
    )(request, response);
  });
  const other = url.replace('localhost', '127.0.0.1');
  const [domain, otherDomain] = [new URL(url).host, new URL(other).host];
  const strict = await open({ domain, loginUrl: url });
  asked(await strict.state());
  const submitted = strict.submit({ values: { username: 'a', password: 'b' } });
  await expect(submitted).rejects.toMatchObject({ code: 'domain_not_allowed' });
  const page = await open({ domain, loginUrl: url, allowedDomains: [otherDomain] });
  await page.state();
  await page
    .submit({ values: { username: 'alice', password: 'in the frame' } })
    .catch((error: unknown) => expect(String(error)).toContain('domain'));
  expect(body).toBe('u=alice&p=in+the+frame');
});

test("doesn't wait for a frame that is removed or goes before it is loaded", async ({ session: { cdp }, site }) => {
  const url = await site((request, response) => {
    if (request.url === '/endless')
      response.writeHead(200, { 'content-type': 'text/html' }).write('<p>More follows</p>');
    else html(request.url === '/other' ? '<h1>Other</h1>' : '<iframe src="/endless"></iframe>')(request, response);
  });
  for (const expression of [
    'document.querySelector("iframe").remove()',
    'document.querySelector("iframe").src = "/other"',
    'location = "/other"',
  ]) {
    const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
    const page = await WatchedPage.attach({ cdp, targetId, mayVisit: () => true, signal: AbortSignal.timeout(50_000) });
    await page.navigate(url);
    await expect.poll(async () => (await page.observe()).flatMap(({ lines }) => lines)).toContain('More follows');
    expect(page.quietMs, expression).toBe(0);
    await page.send('Runtime.evaluate', { expression, awaitPromise: false, returnByValue: true, userGesture: false });
    await expect.poll(() => page.quietMs, expression).toBeGreaterThan(0);
    await page.close();
  }
});

test('Node prints no leak warning for a login page with many frames @long', async ({ open, site }) => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const form =
    '<form><label>User <input></label><label>Password <input type="password"></label><button>Log in</button></form>';
  const frames = form + '<iframe src="/frame"></iframe>'.repeat(15);
  const url = await site((request, response) =>
    html(request.url === '/' ? frames : '<p>A frame</p>')(request, response),
  );
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  asked(await page.state());
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
