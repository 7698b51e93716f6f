import { expect } from '@playwright/test';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { LoginPage } from '../../../src/service/logins/robot/login-page.ts';
import type { LoginState } from '../../../src/service/logins/reading/login-form.ts';
import { settings, test as base } from '../../support/service/browser-sessions.ts';
import type { LoginFixture } from './login-forms/fixture.ts';
import { applications } from './login-forms/applications.ts';
import { further } from './login-forms/further.ts';
import { labels } from './login-forms/labels.ts';
import { languages } from './login-forms/languages.ts';
import { products } from './login-forms/products.ts';
import { steps } from './login-forms/steps.ts';
import { structures } from './login-forms/structures.ts';

/** They wait more than they work. */
const pagesAtOnce = 5;

const test = base.extend<{ origin: string; serve: { fixtures: LoginFixture[] } }>({
  serve: async ({}, use) => await use({ fixtures: [] }),
  origin: async ({ serve }, use) => {
    const server = createServer((request, response) => {
      const fixture = serve.fixtures[Number(request.url?.slice(1))];
      const other = `http://localhost:${(server.address() as AddressInfo).port}${request.url}`;
      const isFrame = request.headers.host?.startsWith('localhost');
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        `<!doctype html>${(isFrame ? fixture?.frame : fixture?.html)?.replaceAll('{{other}}', other) ?? ''}`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.closeAllConnections();
    server.close();
  },
});

for (const [family, fixtures] of Object.entries({
  labels,
  structures,
  languages,
  steps,
  applications,
  products,
  further,
})) {
  test(`finds the fields and buttons of login forms: ${family}${family === 'steps' ? '' : ' @long'}`, async ({
    sessions,
    origin,
    serve,
  }) => {
    const session = await sessions.create(settings);
    const domain = new URL(origin).host;
    serve.fixtures = fixtures;
    const rest = [...fixtures.entries()];
    const discoverRest = async () => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        const [index, fixture] = next;
        await using page = await LoginPage.open(session, {
          domain,
          loginUrl: `${origin}/${index}`,
          signal: AbortSignal.timeout(30_000),
        });
        expect.soft(summary(await page.state()), fixture.name).toEqual({
          kind: fixture.external ? 'external_action' : 'asks',
          fields: fixture.fields,
          choices: fixture.choices ?? [],
          error: fixture.error,
          external: fixture.external ? expect.stringMatching(fixture.external) : undefined,
        });
      }
    };
    await Promise.all(Array.from({ length: pagesAtOnce }, discoverRest));
  });
}

test('reports which fields of login forms were not found @long', async ({ sessions, origin, serve }) => {
  serve.fixtures = [
    { name: 'nameless', html: '<h1>Log in</h1><input><input type="password">', fields: [] },
    {
      name: 'no login',
      html: '<form><input type="password"><input type="password"><button>Change password</button></form>',
      fields: [],
    },
  ];
  const session = await sessions.create(settings);
  const options = { domain: new URL(origin).host, signal: AbortSignal.timeout(30_000) };
  await using page = await LoginPage.open(session, { ...options, loginUrl: `${origin}/0` });
  const state = await page.state();
  expect(state.kind === 'asks' && state.form.not_found).toEqual([
    'a field without a name or label',
    'a field without a name or label',
    'a button that submits the fields',
  ]);
  await using other = await LoginPage.open(session, { ...options, loginUrl: `${origin}/1` });
  await expect(other.state()).rejects.toMatchObject({
    code: 'login_form_not_found',
    message: expect.stringContaining('2 fields for passwords'),
  });
});

const marks = '\u0301'.repeat(2000) + '\u0323'.repeat(2000);
const hostile = [
  { what: 'a long row of dots', label: 'Code', html: `<p>${'•'.repeat(1000)}</p>` },
  { what: 'buttons of dots', label: 'Code', html: `<button>${'•'.repeat(158)}</button>`.repeat(10) },
  {
    what: 'accents without letters',
    label: 'Answer',
    html:
      `<div><template shadowrootmode="open"><p>${marks}</p></template></div>`.repeat(40) +
      '<label>Reason <input></label>',
  },
];

for (const { what, label, html } of hostile) {
  test(`reads a hostile login form in limited time: ${what}`, async ({ sessions, origin, serve }) => {
    const form = `<form><h1>Log in</h1>${html}<label>${label} <input></label><button>Log in</button></form>`;
    serve.fixtures = [{ name: what, html: form, fields: [] }];
    const session = await sessions.create(settings);
    const before = process.cpuUsage();
    const options = { domain: new URL(origin).host, signal: AbortSignal.timeout(50_000) };
    await using page = await LoginPage.open(session, { ...options, loginUrl: `${origin}/0` });
    const state = await page.state();
    expect(state.kind === 'asks' && state.form.fields.at(-1)).toMatchObject({ label });
    // Processor time, because other tests may keep the processor busy. In µs.
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  });
}

test("reads only the beginning of a login form's long names", async ({ sessions, origin, serve }) => {
  const long = 'abcde '.repeat(10_000);
  const html = `<title>${long}</title><h1>${long}</h1><form><label>Code <input placeholder="${long}"></label><button>Log in</button></form>`;
  serve.fixtures = [{ name: 'long', html, fields: [] }];
  const session = await sessions.create(settings);
  const options = { domain: new URL(origin).host, signal: AbortSignal.timeout(30_000) };
  await using page = await LoginPage.open(session, { ...options, loginUrl: `${origin}/0` });
  expect(await page.state()).toMatchObject({ kind: 'asks', form: { fields: [{ placeholder: long.slice(0, 1000) }] } });
});

test("removes control characters from a login form's texts, because they could command a terminal", async ({
  sessions,
  origin,
  serve,
}) => {
  const html =
    '<form><p role="alert">Wrong&#27;[2J\u0007 code</p><label>Your&#27;[31m code <input name="code"></label><button>Log in</button></form>';
  serve.fixtures = [{ name: 'commands', html, fields: [] }];
  const session = await sessions.create(settings);
  const options = { domain: new URL(origin).host, signal: AbortSignal.timeout(30_000) };
  await using page = await LoginPage.open(session, { ...options, loginUrl: `${origin}/0` });
  expect(await page.state()).toMatchObject({
    kind: 'asks',
    form: { website_error: 'Wrong [2J code', fields: [{ label: 'Your [31m code' }] },
  });
});

function summary(state: LoginState) {
  if (state.kind === 'logged_in') return { kind: state.kind };
  const { fields, choices, website_error: error, external_action_message: external } = state.form;
  return {
    kind: state.kind,
    fields: fields.map(({ type, label }) => `${type}: ${label}`),
    choices: choices.map(({ type, label }) => `${type}: ${label}`),
    error,
    external,
  };
}
