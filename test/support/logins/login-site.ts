import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { serve, type Serving } from '../http/serve.ts';

/** A small site. Its front page leads to a login with user name and password, and for some users a code. */
export class LoginSite {
  /** Host and port. */
  readonly domain: string;
  /** Another domain of the same site. */
  readonly otherDomain: string;
  /** The sessions of logged-in users. */
  readonly sessions = new Map<string, string>();
  /** The code that the site also asks for, if any. */
  code: string | undefined;
  /** Whether the user must approve the login on the phone. */
  approval: 'none' | 'asked' | 'given' = 'none';
  /** The address to which the login page redirects. */
  redirect: string | undefined;
  /** The next request waits for it. */
  beforeNext: (() => Promise<void>) | undefined;
  /** The number of sent forms. */
  attempts = 0;
  readonly password = 'looking-glass-1';
  readonly #serving: Serving;

  private constructor(serving: Serving) {
    this.#serving = serving;
    this.domain = `127.0.0.1:${serving.port}`;
    this.otherDomain = `localhost:${serving.port}`;
  }

  static async start(): Promise<LoginSite> {
    const site: LoginSite = new LoginSite(await serve((request, response) => void site.#answer(request, response)));
    return site;
  }

  close(): void {
    void this.#serving[Symbol.asyncDispose]();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { beforeNext } = this;
    this.beforeNext = undefined;
    await beforeNext?.();
    const [path] = (request.url ?? '').split('?');
    const fields = new URLSearchParams(request.method === 'POST' ? await text(request) : '');
    const user = this.sessions.get(/session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '');
    const page = (body: string) =>
      void response
        .setHeader('content-type', 'text/html; charset=utf-8')
        .end(`<!doctype html><title>Site</title>${body}`);
    const lead = (location: string) => void response.writeHead(303, { location }).end();
    if (path === '/')
      return page(
        user ? `<p>Hello ${user}</p><a href="/logout">Log out</a>` : '<h1>Welcome</h1><a href="/login">Log in</a>',
      );
    if (path === '/account')
      return user ? page(`<h1>Account of ${user}</h1><a href="/logout">Log out</a>`) : lead('/login');
    if (path === '/approval') {
      if (this.approval === 'given') return this.#logIn(response, 'carol');
      return page(
        '<meta http-equiv="refresh" content="1"><h1>Check your phone</h1><p>Approve the sign-in on your phone to continue.</p>',
      );
    }
    if (path === '/code') {
      if (request.method !== 'POST') return page(codeForm(''));
      this.attempts += 1;
      return fields.get('code') === this.code
        ? this.#logIn(response, 'carol')
        : page(codeForm('<p role="alert">That code is wrong.</p>'));
    }
    if (path !== '/login') return void response.writeHead(404).end();
    if (this.redirect !== undefined) return lead(this.redirect);
    if (user) return lead('/account');
    if (request.method !== 'POST') return page(loginForm(''));
    this.attempts += 1;
    const isRight = fields.get('username') === 'carol' && fields.get('password') === this.password;
    if (!isRight) return page(loginForm('<p role="alert">Wrong user name or password.</p>'));
    if (this.approval === 'asked') return lead('/approval');
    return this.code === undefined ? this.#logIn(response, 'carol') : lead('/code');
  }

  #logIn(response: ServerResponse, user: string): void {
    const id = randomUUID();
    this.sessions.set(id, user);
    response
      .writeHead(303, { location: '/account', 'set-cookie': `session=${id}; Path=/; HttpOnly; Max-Age=3600` })
      .end();
  }
}

function loginForm(error: string): string {
  return `<h1>Log in</h1>${error}<form method="post" action="/login">
    <label for="u">User name</label><input id="u" name="username" autocomplete="username" required>
    <label for="p">Password</label><input id="p" name="password" type="password" required>
    <button>Log in</button></form>`;
}

function codeForm(error: string): string {
  return `<h1>Check your phone</h1><p>We sent a code by SMS to •••• 42.</p>${error}<form method="post" action="/code">
    <label for="c">Code</label><input id="c" name="code" inputmode="numeric" autocomplete="one-time-code" required>
    <button>Continue</button></form>`;
}
