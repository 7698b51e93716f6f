import { readFileSync } from 'node:fs';
import { expect } from '@playwright/test';
import { LoginPage } from '../../../src/service/logins/robot/login-page.ts';
import type { LoginState } from '../../../src/service/logins/reading/login-form.ts';
import { serve } from '../../support/http/serve.ts';
import { test as base } from '../../support/service/browser-sessions.ts';

/** `{{other}}` in `html` is the address of another site, which serves `frame`. */
type Form = { html: string; frame?: string | undefined };

/** They wait more than they work. */
const pagesAtOnce = 5;

const test = base.extend<{ forms: Form[]; open: (index: number) => Promise<LoginPage> }>({
  forms: async ({}, use) => await use([]),
  /** Opens one of the forms in the session. */
  open: async ({ forms, session }, use) => {
    await using site = await serve((request, response) => {
      const { html, frame } = forms[Number(request.url?.slice(1))] ?? { html: '' };
      const shown = request.headers.host?.startsWith('localhost') ? frame : html;
      const other = `http://localhost:${site.port}${request.url}`;
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(`<!doctype html>${shown?.replaceAll('{{other}}', other) ?? ''}`);
    });
    await use((index) => {
      const signal = AbortSignal.timeout(50_000);
      return LoginPage.open(session, { domain: new URL(site.url).host, loginUrl: `${site.url}/${index}`, signal });
    });
  },
});

/** The forms of a file. The comment before each one has its name and the expected results. */
function formsOf(family: string): (Form & { name: string; results: string[] })[] {
  const text = readFileSync(new URL(`login-forms/${family}.html`, import.meta.url), 'utf8');
  return text.split(/^(?=<!-- (?!frame ))/m).map((part) => {
    const comment = part.slice(0, part.indexOf(' -->\n'));
    const [name = '', ...results] = comment.replace('<!-- ', '').split(' | ');
    const [html = '', frame] = part
      .slice(comment.length + ' -->\n'.length)
      .trimEnd()
      .split('\n<!-- frame -->\n');
    return { name, results, html, frame };
  });
}

for (const family of ['labels', 'structures', 'languages', 'steps', 'applications', 'products', 'further']) {
  const long = family === 'steps' ? '' : ' @long';
  test(`finds the fields and buttons of login forms: ${family}${long}`, async ({ forms, open }) => {
    const all = formsOf(family);
    forms.push(...all);
    const rest = [...all.entries()];
    const discoverRest = async () => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        const [index, { name, results }] = next;
        await using page = await open(index);
        const expected = results.map((result) =>
          // The rest of this result is a pattern.
          result.startsWith('external: ')
            ? expect.stringMatching(new RegExp(result.replace('external: ', '^external: [^]*')))
            : result,
        );
        expect.soft(resultsOf(await page.state()), name).toEqual(expected);
      }
    };
    await Promise.all(Array.from({ length: pagesAtOnce }, discoverRest));
  });
}

test('reports which fields of login forms were not found @long', async ({ forms, open }) => {
  forms.push(
    { html: '<h1>Log in</h1><input><input type="password">' },
    { html: '<form><input type="password"><input type="password"><button>Change password</button></form>' },
  );
  await using page = await open(0);
  const state = await page.state();
  expect(state.kind === 'asks' && state.form.not_found).toEqual([
    'a field without a name or label',
    'a field without a name or label',
    'a button that submits the fields',
  ]);
  await using other = await open(1);
  await expect(other.state()).rejects.toMatchObject({
    code: 'login_form_not_found',
    message: expect.stringContaining('2 fields for passwords'),
  });
});

test('reads hostile login forms in limited time, and only the beginning of long names', async ({ forms, open }) => {
  const marks = '\u0301'.repeat(2000) + '\u0323'.repeat(2000);
  const accents = `<div><template shadowrootmode="open"><p>${marks}</p></template></div>`;
  const dots = `<button>${'•'.repeat(158)}</button>`;
  const long = 'abcde '.repeat(10_000);
  const hostile: [what: string, html: string, field: Record<string, unknown>][] = [
    ['a long row of dots', `<p>${'•'.repeat(1000)}</p><label>Code <input></label>`, { label: 'Code' }],
    ['buttons of dots', `${dots.repeat(10)}<label>Code <input></label>`, { label: 'Code' }],
    [
      'accents without letters',
      `${accents.repeat(40)}<label>Reason <input></label><label>Answer <input></label>`,
      { label: 'Answer' },
    ],
    [
      'long names',
      `<title>${long}</title><h1>${long}</h1><label>Code <input placeholder="${long}"></label>`,
      { placeholder: long.slice(0, 1000) },
    ],
    // These could command a terminal.
    [
      'control characters',
      '<p role="alert">Wrong&#27;[2J\u0007 code</p><label>Your&#27;[31m code <input name="code"></label>',
      { label: 'Your [31m code' },
    ],
  ];
  forms.push(...hostile.map(([, html]) => ({ html: `<form><h1>Log in</h1>${html}<button>Log in</button></form>` })));
  for (const [index, [what, , field]] of hostile.entries()) {
    const before = process.cpuUsage();
    await using page = await open(index);
    const state = await page.state();
    expect(state.kind === 'asks' && state.form.fields.at(-1), what).toMatchObject(field);
    // Processor time, because other tests may keep the processor busy. In µs.
    expect(process.cpuUsage(before).user, what).toBeLessThan(500_000);
    if (what === 'control characters') expect(state).toMatchObject({ form: { website_error: 'Wrong [2J code' } });
  }
});

/** Fields, choices, error and external action, each as `type: text`. */
function resultsOf(state: LoginState): string[] {
  if (state.kind === 'logged_in') return [state.kind];
  const { fields, choices, website_error: error, external_action_message: external } = state.form;
  expect(state.kind).toBe(external === undefined ? 'asks' : 'external_action');
  return [
    ...[...fields, ...choices].map(({ type, label }) => `${type}: ${label}`),
    ...(error === undefined ? [] : [`error: ${error}`]),
    ...(external === undefined ? [] : [`external: ${external}`]),
  ];
}
