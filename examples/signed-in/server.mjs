// A small site with several kinds of login, and an identity provider on another origin: node
// examples/signed-in/server.mjs
// /login      alice (wonderland); bob (builder), with a code by text message or mail; carol (looking glass), with an
// authenticator app
//   /two-step   the same users; asks for the name first
//   /sso        dave (griffin), known to the identity provider only
//   /inbox      the sent codes
//   POST /drop  ends all sessions
import { randomInt, randomUUID } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { createServer } from 'node:http';
import { page, form, field, alert } from './pages.mjs';
import { isTotp } from './totp.mjs';

const people = {
  alice: { password: 'wonderland' },
  bob: { password: 'builder', phone: '+49 170 555 0142', mail: 'bob@example.com' },
  carol: { password: 'looking glass', totpSecret: 'JBSWY3DPEHPK3PXP' },
};
const ownPeople = { dave: 'griffin' };
const wrong = 'The user name or the password is wrong.';

const sessions = new Map(); // value of the session cookie -> user
const pending = new Map(); // value of the cookie of a login -> { user, step, code }
const tickets = new Map(); // ticket of the provider -> user
const inbox = [];

const site = createServer((request, response) => void handle(request, response, siteRoutes, home));
const provider = createServer((request, response) => void handle(request, response, providerRoutes, notFound));
const [siteUrl, providerUrl] = await Promise.all([
  listen(site, process.env.PORT, '127.0.0.1'),
  // Another host name, so that browsers treat it as another site.
  listen(provider, process.env.PROVIDER_PORT, 'localhost'),
]);
process.stdout.write(`site on ${siteUrl}, identity provider on ${providerUrl}\n`);

// The test runner gives a pipe as stdin. It ends with the runner, even if the runner is killed.
const stdin = fstatSync(0, { throwIfNoEntry: false });
if (stdin?.isFIFO() || stdin?.isSocket()) process.stdin.resume().on('end', () => process.exit());

const siteRoutes = {
  'GET /login': (_, response) => send(response, loginPage()),
  'POST /login': async (request, response) => logIn(response, await fields(request), loginPage),
  'GET /two-step': (_, response) => send(response, namePage()),
  'POST /two-step': async (request, response) => {
    const { user } = await fields(request);
    if (!Object.hasOwn(people, user)) return send(response, namePage('There is no account with this name.'));
    return send(response, passwordPage(user));
  },
  'POST /two-step/password': async (request, response) => {
    const values = await fields(request);
    if (!Object.hasOwn(people, values.user)) return redirect(response, '/two-step');
    return logIn(response, values, (problem) => passwordPage(values.user, problem));
  },
  'GET /verify': (request, response) => verify(request, response),
  'POST /verify/method': async (request, response) => {
    const login = pending.get(cookieOf(request, 'login'));
    const { method } = await fields(request);
    if (!login || !['sms', 'email'].includes(method)) return redirect(response, '/login');
    login.code = String(randomInt(1e6)).padStart(6, '0');
    login.step = method;
    const { phone, mail } = people[login.user];
    inbox.push({ to: method === 'sms' ? phone : mail, text: `Your code is ${login.code}` });
    return redirect(response, '/verify');
  },
  'POST /verify': async (request, response) => {
    const login = pending.get(cookieOf(request, 'login'));
    const { code = '' } = await fields(request);
    if (!login) return redirect(response, '/login');
    const typed = code.replaceAll(/\s/g, '');
    const isRight =
      login.step === 'totp' ? isTotp(people[login.user].totpSecret, typed) : typed !== '' && typed === login.code;
    if (!isRight) return verify(request, response, 'This code is wrong or has expired.');
    pending.delete(cookieOf(request, 'login'));
    return signIn(response, login.user);
  },
  'GET /sso': (_, response) =>
    redirect(response, `${providerUrl}/authorize?return=${encodeURIComponent(`${siteUrl}/sso/done`)}`),
  'GET /sso/done': (request, response) => {
    const ticket = new URL(request.url, siteUrl).searchParams.get('ticket');
    const user = tickets.get(ticket);
    tickets.delete(ticket);
    return user ? signIn(response, user) : redirect(response, '/login');
  },
  'GET /inbox': (_, response) => {
    const items = inbox.map(({ to, text }) => `<li><b>${to}</b> <span>${text}</span></li>`).toReversed();
    send(response, page('Inbox', `<ul>${items.join('')}</ul>`));
  },
  'POST /drop': (_, response) => {
    sessions.clear();
    response.writeHead(204).end();
  },
  'POST /logout': (request, response) => {
    sessions.delete(cookieOf(request, 'session'));
    return redirect(response, '/');
  },
};

const providerRoutes = {
  'GET /authorize': (request, response) => {
    const user = sessions.get(cookieOf(request, 'provider'));
    const back = returnOf(request);
    if (!back) return notFound(request, response);
    return user ? redirect(response, withTicket(back, user)) : send(response, providerPage(back));
  },
  'POST /authorize': async (request, response) => {
    const { user = '', password } = await fields(request);
    const back = returnOf(request);
    if (!back) return notFound(request, response);
    if (!Object.hasOwn(ownPeople, user) || ownPeople[user] !== password)
      return send(response, providerPage(back, wrong));
    setSession(response, 'provider', user);
    return redirect(response, withTicket(back, user));
  },
};

/** The front page and the pages behind the login. */
function home(request, response) {
  if (new URL(request.url, siteUrl).pathname !== '/') return notFound(request, response);
  const user = sessions.get(cookieOf(request, 'session'));
  const signedIn = `<p>Signed in as <strong>${user}</strong></p>${form('/logout', '', 'Log out')}`;
  return send(response, page('Rabbit Hole', user ? signedIn : '<p>Welcome.</p><a href="/login">Log in</a>'));
}

function loginPage(problem) {
  const inputs =
    field('user', 'User name', 'autocomplete="username"') +
    field('password', 'Password', 'type="password" autocomplete="current-password"');
  return page(
    'Log in',
    alert(problem) + form('/login', inputs, 'Log in') + '<p>or</p><a href="/sso">Sign in with Keyring</a>',
  );
}

function namePage(problem) {
  return page(
    'Log in',
    alert(problem) + form('/two-step', field('user', 'User name', 'autocomplete="username"'), 'Next'),
  );
}

function passwordPage(user, problem) {
  const inputs = `<input type="hidden" name="user" value="${user}">${field('password', 'Password', 'type="password" autocomplete="current-password"')}`;
  return page(`Welcome, ${user}`, alert(problem) + form('/two-step/password', inputs, 'Log in'));
}

function providerPage(back, problem) {
  const inputs =
    field('user', 'Keyring name', 'autocomplete="username"') + field('password', 'Keyring password', 'type="password"');
  return page(
    'Keyring: sign in',
    alert(problem) + form(`/authorize?return=${encodeURIComponent(back)}`, inputs, 'Sign in'),
  );
}

function logIn(response, { user = '', password }, again) {
  if (!Object.hasOwn(people, user) || people[user].password !== password) return send(response, again(wrong));
  const { totpSecret, phone } = people[user];
  if (!totpSecret && !phone) return signIn(response, user);
  const id = randomUUID();
  pending.set(id, { user, step: totpSecret ? 'totp' : 'choice' });
  response.setHeader('set-cookie', `login=${id}; Path=/; HttpOnly; SameSite=Lax`);
  return redirect(response, '/verify');
}

function verify(request, response, problem) {
  const login = pending.get(cookieOf(request, 'login'));
  if (!login) return redirect(response, '/login');
  if (login.step === 'choice') return send(response, choicePage(people[login.user]));
  const from = {
    totp: 'Open your authenticator app.',
    sms: 'We sent a text message to your phone.',
    email: 'We sent a mail to your address.',
  }[login.step];
  const inputs = field('code', 'Code with 6 digits', 'inputmode="numeric" autocomplete="one-time-code" maxlength="6"');
  return send(response, page('Enter your code', `${alert(problem)}<p>${from}</p>${form('/verify', inputs, 'Verify')}`));
}

function choicePage({ phone, mail }) {
  const choices =
    choice('sms', `Text message to •••• ${phone.slice(-2)}`) +
    choice('email', `Email to ${mail[0]}•••${mail.slice(mail.indexOf('@'))}`);
  return page('How do you want to get your code?', form('/verify/method', choices, 'Send code'));
}

function choice(value, label) {
  return `<label><input type="radio" name="method" value="${value}" required> ${label}</label>`;
}

function signIn(response, user) {
  setSession(response, 'session', user);
  return redirect(response, '/');
}

function setSession(response, name, user) {
  const id = randomUUID();
  sessions.set(id, user);
  response.setHeader('set-cookie', `${name}=${id}; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400`);
}

/** The URL to which the provider returns. Only this site is allowed. */
function returnOf(request) {
  const back = new URL(request.url, providerUrl).searchParams.get('return');
  return back === `${siteUrl}/sso/done` ? back : undefined;
}

function withTicket(back, user) {
  const ticket = randomUUID();
  tickets.set(ticket, user);
  return `${back}?ticket=${ticket}`;
}

async function handle(request, response, routes, otherwise) {
  try {
    const route = `${request.method} ${new URL(request.url, 'http://localhost').pathname}`;
    await (Object.hasOwn(routes, route) ? routes[route] : otherwise)(request, response);
  } catch (error) {
    if (response.headersSent) response.destroy(error);
    else response.writeHead(500, { 'content-type': 'text/plain' }).end(error.message);
  }
}

async function fields(request) {
  let body = '';
  for await (const chunk of request) {
    body += chunk;
    if (body.length > 10_000) throw new Error('A form is smaller than that.');
  }
  return Object.fromEntries(new URLSearchParams(body));
}

function cookieOf(request, name) {
  return new RegExp(`(?:^|; )${name}=([^;]+)`).exec(request.headers.cookie ?? '')?.[1];
}

async function listen(server, port, host) {
  await new Promise((resolve) => server.listen(Number(port ?? 0), host, resolve));
  return `http://${host}:${server.address().port}`;
}

function send(response, html) {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

function redirect(response, location) {
  response.writeHead(303, { location }).end();
}

function notFound(_request, response) {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Nothing is here.');
}
