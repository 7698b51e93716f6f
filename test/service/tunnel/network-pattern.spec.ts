import { parseLoopbackPattern, parseNetworkPattern } from '../../../src/tunnel/pattern.ts';
import { expect, test } from '../../support/worker.ts';

test("matches host names by the same patterns as Playwright's exposeNetwork", () => {
  const cases: [pattern: string, matching: string[], others: string[]][] = [
    ['', [], ['localhost:80', 'a.test:80']],
    [
      '<loopback>',
      ['localhost:80', 'deep.localhost:3000', '127.0.0.1:1', '[::1]:443'],
      ['127.0.0.2:80', '0.0.0.0:80', 'localhost.test:80', 'notlocalhost:80', '[::2]:80'],
    ],
    ['<loopback>:3000', ['localhost:3000', '[::1]:3000'], ['localhost:80']],
    ['*', ['a.test:80', '10.1.2.3:443', '[fe80::1]:80'], []],
    ['*:443', ['a.test:443'], ['a.test:80']],
    ['*.test', ['a.test:80', 'b.a.test:443'], ['test:80', 'a.testing:80', 'a.test.example:80']],
    ['.test', ['a.test:80'], ['test:80']],
    ['*.0.0.1', ['a.0.0.1:80'], ['127.0.0.1:80']],
    ['App.Test:8080, 10.0.0.7', ['app.test:8080', '10.0.0.7:22'], ['app.test:80', 'b.app.test:8080', '10.0.0.70:22']],
    ['[::1]:3000', ['[::1]:3000'], ['[::1]:80', 'localhost:3000']],
    ['fd00::7', ['[fd00::7]:80'], ['[fd00::8]:80']],
  ];
  for (const [pattern, matching, others] of cases) {
    const matches = parseNetworkPattern(pattern);
    const asked = (authority: string) => matches(authority.replace(/:\d+$/, ''), Number(/\d+$/.exec(authority)));
    expect(
      matching.filter((authority) => !asked(authority)),
      pattern,
    ).toEqual([]);
    expect(others.filter(asked), pattern).toEqual([]);
  }
});

test('only whole names, <loopback> and * may lead to a loopback address', () => {
  const cases: [pattern: string, host: string, isAllowed: boolean][] = [
    ['*.test', 'a.test', false],
    ['.test', 'a.test', false],
    ['*.test,a.test', 'a.test', true],
    ['*.test,a.test:81', 'a.test', false],
    ['<loopback>,*.test', 'a.test', true],
    ['<loopback>:81,*.test', 'a.test', false],
    ['localhost,*.test', 'a.test', false],
    ['*.localhost', 'a.localhost', true],
    ['*', 'a.test', true],
    ['**', 'a.test', false],
  ];
  for (const [pattern, host, isAllowed] of cases)
    expect(parseLoopbackPattern(pattern)(host, 80), `${pattern} ${host}`).toBe(isAllowed);
});

test('refuses invalid patterns of host names', () => {
  for (const text of ['http://localhost', 'localhost:70000', 'a b', 'a,,b', '<local>', 'a/b', '(a+)+$'])
    expect(() => parseNetworkPattern(text), text).toThrow('is not a host of a network pattern');
});
