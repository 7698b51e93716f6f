import { expect } from '@playwright/test';
import { createHmac } from 'node:crypto';
import { LoginPage } from '../../src/service/auth/login-page.ts';
import type { LoginForm, LoginPageOptions, LoginState } from '../../src/service/auth/login-form.ts';
import { WatchedPage } from '../../src/service/auth/watched-page.ts';
import { page as html, settings, test as base } from '../support/browser-sessions.ts';
import { startSignedInSite, type SignedInSite } from '../support/signed-in-site.ts';

const test = base.extend<{ signedIn: SignedInSite; open: (options: Partial<LoginPageOptions> & { domain: string }) => Promise<LoginPage> }>(
  {
    signedIn: async ({}, use) => {
      await using site = await startSignedInSite();
      await use(site);
    },
    open: async ({ sessions }, use) => {
      const session = await sessions.create(settings);
      const pages: LoginPage[] = [];
      await use(async (options) => {
        const page = await LoginPage.open(session, { signal: AbortSignal.timeout(50_000), ...options });
        pages.push(page);
        return page;
      });
      for (const page of pages) await page[Symbol.asyncDispose]();
    },
  },
);

test('the login is found from the front page, refuses a wrong password and takes the right one', async ({ signedIn, open }) => {
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
  expect(await page.submit({ values: { username: 'alice', password: 'wonderland' } })).toEqual({
    kind: 'logged_in',
    url: `${signedIn.url}/`,
  });

  const again = await open({ domain: host, loginUrl: `${signedIn.url}/login`, postLoginUrl: `${signedIn.url}/` });
  expect(await again.state()).toMatchObject({ kind: 'logged_in' });
  await fetch(`${signedIn.url}/drop`, { method: 'POST' });
  const dropped = await open({ domain: host, loginUrl: `${signedIn.url}/login`, postLoginUrl: `${signedIn.url}/` });
  expect(await dropped.state()).toMatchObject({ kind: 'asks' });
});

test('two steps, a choice of how to get a code, a wrong code and the right one', async ({ signedIn, open }) => {
  const page = await open({ domain: new URL(signedIn.url).host, loginUrl: `${signedIn.url}/two-step` });
  expect(asked(await page.state()).fields).toMatchObject([{ id: 'username' }]);
  expect(asked(await page.submit({ values: { username: 'nobody' } })).website_error).toBe('There is no account with this name.');
  expect(asked(await page.submit({ values: { username: 'bob' } })).fields).toMatchObject([{ id: 'password' }]);
  const { choices } = asked(await page.submit({ values: { password: 'builder' } }));
  expect(choices).toMatchObject([
    { type: 'mfa_method', mfa_type: 'sms', target: '•••• 42' },
    { type: 'mfa_method', mfa_type: 'email', target: 'b•••@example.com' },
  ]);
  const { fields } = asked(await page.submit({ choice_id: choices[0]!.id }));
  expect(fields).toMatchObject([{ id: 'code', type: 'code', linked_mfa_type: 'sms' }]);
  expect(asked(await page.submit({ values: { code: '12' } })).website_error).toBe('This code is wrong or has expired.');
  const [sent] = await signedIn.inbox();
  expect(await page.submit({ values: { code: /\d{6}/.exec(sent!)![0] } })).toMatchObject({ kind: 'logged_in' });
});

test('a code of an authenticator app', async ({ signedIn, open }) => {
  const page = await open({ domain: new URL(signedIn.url).host, loginUrl: `${signedIn.url}/login` });
  const { fields } = asked(await page.submit({ values: { username: 'carol', password: 'looking glass' } }));
  expect(fields).toMatchObject([{ id: 'code', type: 'totp_code', input_type: 'totp' }]);
  expect(await page.submit({ values: { code: totp('JBSWY3DPEHPK3PXP') } })).toMatchObject({ kind: 'logged_in' });
});

test('an identity provider is visited where its domain is allowed, and refused elsewhere', async ({ signedIn, open }) => {
  const [site, provider] = [new URL(signedIn.url).host, new URL(signedIn.providerUrl).host];
  const loginUrl = `${signedIn.url}/login`;
  const page = await open({ domain: site, loginUrl, allowedDomains: [provider] });
  const { choices } = asked(await page.state());
  const { fields, url } = asked(await page.submit({ choice_id: choices[0]!.id }));
  expect(new URL(url).host).toBe(provider);
  expect(fields.map(({ label }) => label)).toEqual(['Keyring name', 'Keyring password']);
  expect(await page.submit({ values: { username: 'dave', password: 'griffin' } })).toEqual({ kind: 'logged_in', url: `${signedIn.url}/` });

  await fetch(`${signedIn.url}/drop`, { method: 'POST' });
  const strict = await open({ domain: site, loginUrl });
  await strict.state();
  await expect(strict.submit({ choice_id: 'keyring' })).rejects.toMatchObject({
    code: 'domain_not_allowed',
    message: expect.stringContaining(provider),
  });
});

test('frameworks notice what is typed, code boxes are filled one by one, and an approval ends by itself', async ({ open, site }) => {
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
  expect(waiting).toMatchObject({ kind: 'external_action', form: { external_action_message: 'Approve the sign-in on your phone.' } });
  expect(await page.changed(AbortSignal.timeout(20_000))).toMatchObject({ kind: 'logged_in' });
});

test('a form in a frame of another site is filled where that is allowed, and refused elsewhere', async ({ open, site }) => {
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
  await expect(strict.submit({ values: { username: 'a', password: 'b' } })).rejects.toMatchObject({ code: 'domain_not_allowed' });
  const page = await open({ domain, loginUrl: url, allowedDomains: [otherDomain] });
  await page.state();
  await page
    .submit({ values: { username: 'alice', password: 'in the frame' } })
    .catch((error: unknown) => expect(String(error)).toContain('domain'));
  expect(body).toBe('u=alice&p=in+the+frame');
});

for (const [end, script] of [
  ['is removed', 'document.querySelector("iframe").remove()'],
  ['goes elsewhere', 'document.querySelector("iframe").src = "/other"'],
  ['goes with its page', 'location = "/other"'],
] as const) {
  test(`a page is quiet though it has a frame that ${end} before it is loaded`, async ({ session, site }) => {
    const url = await site((request, response) => {
      if (request.url === '/endless') response.writeHead(200, { 'content-type': 'text/html' }).write('<p>More follows</p>');
      else html(request.url === '/other' ? '<h1>Other</h1>' : '<iframe src="/endless"></iframe>')(request, response);
    });
    const { cdp } = session;
    const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
    const page = await WatchedPage.attach({ cdp, targetId, mayVisit: () => true, signal: AbortSignal.timeout(50_000) });
    await page.navigate(url);
    await expect.poll(async () => (await page.observe()).flatMap(({ lines }) => lines)).toContain('More follows');
    expect(page.quietMs).toBe(0);
    await page.send('Runtime.evaluate', { expression: script, awaitPromise: false, returnByValue: true, userGesture: false });
    await expect.poll(() => page.quietMs).toBeGreaterThan(0);
    await page.close();
  });
}

test('a login page with many frames makes Node suspect no leak', async ({ open, site }) => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const form = '<form><label>User <input></label><label>Password <input type="password"></label><button>Log in</button></form>';
  const url = await site((request, response) =>
    html(request.url === '/' ? form + '<iframe src="/frame"></iframe>'.repeat(15) : '<p>A frame</p>')(request, response),
  );
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  asked(await page.state());
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

test('a front page that opens its login as a dialog, errors as alerts, and a session that only the page keeps', async ({ open, site }) => {
  const url = await site(
    html(`<nav><button onclick="d.showModal()">Sign in</button></nav><h1>Shop</h1>
    <dialog id="d"><form id="f"><label>E-mail <input type="email" name="e"></label><label>Password <input type="password" name="p"></label><button>Sign in</button></form></dialog>
    <script>f.onsubmit = (event) => { event.preventDefault(); if (f.p.value !== 'right') return alert('Wrong password'); localStorage.token = 1; document.body.innerHTML = '<h1>My orders</h1><p>1 order</p><button>Call us</button><button>Email us</button><button>Connect Google</button><button>More options</button>'; }</script>`),
  );
  const page = await open({ domain: new URL(url).host });
  expect(asked(await page.state()).fields.map(({ id }) => id)).toEqual(['email', 'password']);
  for (let attempt = 0; attempt < 2; attempt++) {
    const refused = asked(await page.submit({ values: { email: 'a@example.com', password: 'wrong' } }));
    expect(refused.website_error).toBe('Wrong password');
  }
  expect(await page.submit({ values: { email: 'a@example.com', password: 'right' } })).toMatchObject({ kind: 'logged_in' });
});

test('a provider in a popup that closes itself', async ({ open, site }) => {
  const popup = `<form><label>User <input></label><label>Password <input type="password"></label><button>Sign in</button></form>
    <script>document.querySelector('form').onsubmit = (event) => { event.preventDefault(); opener.postMessage('in', '*'); close() }</script>`;
  const url = await site((request, response) =>
    html(
      request.url === '/popup'
        ? popup
        : `<h1>Log in</h1><button onclick="window.open('/popup', 'p', 'width=400,height=400')">Continue with Google</button>
           <script>onmessage = () => { document.cookie = 'session=1'; document.body.innerHTML = '<h1>Home</h1><a href="/logout">Log out</a>' }</script>`,
    )(request, response),
  );
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  expect(asked(await page.state()).choices).toMatchObject([{ id: 'google', provider: 'google' }]);
  expect(asked(await page.submit({ choice_id: 'google' })).fields.map(({ id }) => id)).toEqual(['username', 'password']);
  expect(await page.submit({ values: { username: 'a', password: 'b' } })).toMatchObject({ kind: 'logged_in' });
});

test('a form that is sent on to a foreign domain is stopped before it is sent there', async ({ open, site }) => {
  let stolen = '';
  const url = await site((request, response) => {
    if (request.headers.host?.startsWith('127.0.0.1')) {
      request.on('data', (chunk) => (stolen += chunk)).on('end', () => response.end());
    } else if (request.method === 'POST') {
      response.writeHead(307, { location: `${url.replace('localhost', '127.0.0.1')}/` }).end();
    } else
      html('<form method="post"><input name="user"><input type="password" name="password"><button>Log in</button></form>')(
        request,
        response,
      );
  });
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  await page.state();
  await expect(page.submit({ values: { username: 'a', password: 'hush hush' } })).rejects.toMatchObject({ code: 'domain_not_allowed' });
  expect(stolen).toBe('');
});

test('closed shadow trees and elements that are edited in place are filled', async ({ open, site }) => {
  const sent: string[] = [];
  const url = await site((request, response) => {
    if (request.url?.startsWith('/done')) {
      sent.push(request.url);
      response.setHeader('set-cookie', 'sid=1; HttpOnly');
      return html('<a href="/logout">Log out</a>')(request, response);
    }
    return html(`<my-login></my-login><script>
      const root = document.querySelector('my-login').attachShadow({ mode: 'closed' });
      root.innerHTML = '<div id="u" contenteditable="true" role="textbox" aria-label="User" style="border:1px solid">old</div><input id="p" type="password" aria-label="Password"><div id="b" style="cursor:pointer">Log in</div>';
      root.querySelector('#b').onclick = () => { location = '/done?' + new URLSearchParams({ u: root.querySelector('#u').textContent, p: root.querySelector('#p').value }) };
    </script>`)(request, response);
  });
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  await page.state();
  const state = await page.submit({ values: { username: 'new', password: 'déjà vu 🐇' } });
  expect(state).toMatchObject({ kind: 'logged_in' });
  expect(new URL(sent[0]!, url).searchParams.get('u')).toBe('new');
  expect(new URL(sent[0]!, url).searchParams.get('p')).toBe('déjà vu 🐇');
});

test('what is down, foreign, empty or aborted ends with a clear error and without the values', async ({ open, site }) => {
  const url = await site((request, response) => {
    if (request.url === '/away') return response.writeHead(302, { location: 'http://127.0.0.2:9/login' }).end();
    if (request.url === '/broken') return response.writeHead(503).end('down');
    return html('<p>Nothing to see here.</p>')(request, response);
  });
  const domain = new URL(url).host;
  await expect(open({ domain: 'localhost:9' })).rejects.toMatchObject({ code: 'network_error' });
  await expect(open({ domain, loginUrl: `${url}/away` })).rejects.toMatchObject({
    code: 'domain_not_allowed',
    message: expect.stringContaining('127.0.0.2:9'),
  });
  const broken = await open({ domain, loginUrl: `${url}/broken` });
  await expect(broken.state()).rejects.toMatchObject({ code: 'network_error', message: expect.stringContaining('503') });
  const abort = new AbortController();
  const opened = await open({ domain, loginUrl: url, signal: abort.signal });
  const waiting = expect(opened.state()).rejects.toThrow('enough');
  abort.abort(new Error('enough'));
  await waiting;
});

function asked(state: LoginState): LoginForm {
  if (state.kind !== 'asks') throw new Error(`the login is ${JSON.stringify(state)}`);
  return state.form;
}

function totp(secret: string): string {
  const bits = Array.from(secret, (letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  return String((digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fffffff) % 1e6).padStart(6, '0');
}
