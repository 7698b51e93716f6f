import { expect } from '@playwright/test';
import { page as html } from '../../support/service/browser-sessions.ts';
import { asked, test } from '../../support/logins/login-page.ts';

const form =
  '<form><h1>Log in</h1><label>User <input name="u"></label><label>Password <input type="password" name="p"></label><button>Log in</button></form>';

test('logs in through a dialog on the front page, with a session in local storage @long', async ({ open, site }) => {
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
  const right = { email: 'a@example.com', password: 'right' };
  expect(await page.submit({ values: right })).toMatchObject({ kind: 'logged_in' });
});

test("logs in through a provider's popup that closes itself @long", async ({ open, site }) => {
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
  const { fields } = asked(await page.submit({ choice_id: 'google' }));
  expect(fields.map(({ id }) => id)).toEqual(['username', 'password']);
  expect(await page.submit({ values: { username: 'a', password: 'b' } })).toMatchObject({ kind: 'logged_in' });
});

test('stops a login form before a redirect sends it to a foreign domain', async ({ open, site }) => {
  const posting =
    '<form method="post"><input name="user"><input type="password" name="password"><button>Log in</button></form>';
  let stolen = '';
  const url = await site((request, response) => {
    if (request.headers.host?.startsWith('127.0.0.1')) {
      request.on('data', (chunk) => (stolen += chunk)).on('end', () => response.end());
    } else if (request.method === 'POST') {
      response.writeHead(307, { location: `${url.replace('localhost', '127.0.0.1')}/` }).end();
    } else html(posting)(request, response);
  });
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  await page.state();
  const submitted = page.submit({ values: { username: 'a', password: 'hush hush' } });
  await expect(submitted).rejects.toMatchObject({ code: 'domain_not_allowed' });
  expect(stolen).toBe('');
});

test('fills closed shadow trees, editable elements and pages that replace built-ins', async ({ open, site }) => {
  const sent: string[] = [];
  const url = await site((request, response) => {
    if (request.url === '/') return html(inShadow)(request, response);
    if (request.url === '/old') return html(asOldLibraries)(request, response);
    sent.push(request.url!);
    response.setHeader('set-cookie', 'sid=1; HttpOnly');
    return html('<a href="/logout">Log out</a>')(request, response);
  });
  const domain = new URL(url).host;
  const old = await open({ domain, loginUrl: `${url}/old` });
  expect(asked(await old.state()).fields.map(({ label }) => label)).toEqual(['User', 'Password']);
  expect(await old.submit({ values: { username: 'alice', password: 'right' } })).toMatchObject({ kind: 'logged_in' });
  const page = await open({ domain, loginUrl: url });
  await page.state();
  const state = await page.submit({ values: { username: 'new', password: 'déjà vu 🐇' } });
  expect(state).toMatchObject({ kind: 'logged_in' });
  expect(Object.fromEntries(new URL(sent[0]!, url).searchParams)).toEqual({ u: 'new', p: 'déjà vu 🐇' });
});

test("a page can't notice a login, and dialogs of other pages stay open", async ({ open, session, site, connect }) => {
  const noticed: string[] = [];
  const url = await site((request, response) => {
    if (request.url?.startsWith('/noticed')) noticed.push(request.url);
    html(`<script>
      const notice = (what) => navigator.sendBeacon('/noticed?' + what);
      const trap = new Proxy({}, { ownKeys: () => (notice('console'), []) });
      const error = new Error();
      Object.defineProperty(error, 'stack', { get: () => (notice('stack'), '') });
      const query = Document.prototype.querySelectorAll;
      Document.prototype.querySelectorAll = function (...all) { notice('query'); return query.apply(this, all); };
      setInterval(() => {
        console.debug(error);
        console.debug(Object.create(trap));
        if (Object.getOwnPropertyNames(window).length !== globals) notice('globals');
      }, 50);
      const globals = Object.getOwnPropertyNames(window).length;
    </script>
    ${form}`)(request, response);
  });
  const clientPage = await (await connect(session)).contexts()[0]!.newPage();
  const opened = clientPage.waitForEvent('dialog');
  const answer = clientPage.evaluate(() => confirm('Continue?'));
  const dialog = await opened;
  const page = await open({ domain: new URL(url).host, loginUrl: url });
  asked(await page.state());
  await dialog.accept();
  expect(await answer).toBe(true);
  await page.submit({ values: { username: 'alice', password: 'right' } }).catch(() => {});
  expect([...new Set(noticed)]).toEqual([]);
});

test('throws a clear error for a site that is down, foreign, empty or aborted @long', async ({ open, site }) => {
  const url = await site((request, response) => {
    if (request.url === '/away') return response.writeHead(302, { location: 'http://127.0.0.2:9/login' }).end();
    if (request.url === '/broken') return response.writeHead(503).end('down');
    return html('<p>Nothing to see here.</p>')(request, response);
  });
  const domain = new URL(url).host;
  await expect(open({ domain: 'localhost:9' })).rejects.toMatchObject({ code: 'network_error' });
  const away = { code: 'domain_not_allowed', message: expect.stringContaining('127.0.0.2:9') };
  await expect(open({ domain, loginUrl: `${url}/away` })).rejects.toMatchObject(away);
  const broken = await open({ domain, loginUrl: `${url}/broken` });
  const down = { code: 'network_error', message: expect.stringContaining('503') };
  await expect(broken.state()).rejects.toMatchObject(down);
  const abort = new AbortController();
  const opened = await open({ domain, loginUrl: url, signal: abort.signal });
  const waiting = expect(opened.state()).rejects.toThrow('enough');
  abort.abort(new Error('enough'));
  await waiting;
});

const inShadow = `<my-login></my-login><script>
  const root = document.querySelector('my-login').attachShadow({ mode: 'closed' });
  root.innerHTML = '<div id="u" contenteditable="true" role="textbox" aria-label="User" style="border:1px solid">old</div><input id="p" type="password" aria-label="Password"><div id="b" style="cursor:pointer">Log in</div>';
  root.querySelector('#b').onclick = () => { location = '/done?' + new URLSearchParams({ u: root.querySelector('#u').textContent, p: root.querySelector('#p').value }) };
</script>`;

const asOldLibraries = `<script>
  Array.from = (iterable) => [].slice.call(iterable || []);
  Array.prototype.toJSON = Object.prototype.toJSON = function () { return String(this); };
  Element.prototype.matches = Element.prototype.getAttribute = () => null;
  Map.prototype.has = WeakMap.prototype.get = () => undefined;
</script>
${form}
<script>document.querySelector('form').onsubmit = (event) => {
  event.preventDefault();
  if (event.target.p.value === 'right') { document.cookie = 'session=1'; document.body.innerHTML = '<h1>Home</h1><a href="/logout">Log out</a>'; }
}</script>`;
