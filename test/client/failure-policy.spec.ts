import { CallTimeoutError, ConnectionError, serviceError } from '../../src/client/errors.ts';
import { policyFor, type Policy } from '../../src/client/failure-policy.ts';
import { expect, test } from '../support/worker.ts';

const name = { method: 'GET', url: 'http://service/x' };
const broken = (code?: string) => new ConnectionError(name, code, 'broken');
const answer = (status: number, more: { code?: string; retryAfter?: number; shouldRetry?: boolean } = {}) =>
  serviceError({ ...name, status, message: 'm', ...more });

/** `flags`: m for mayHaveWorked, r for replace, o for outage. */
const cases: [title: string, error: unknown, Policy['resend'], Policy['askAgain'], flags: string][] = [
  ['a refused connection', broken('ECONNREFUSED'), 'any', 'while-outage', 'ro'],
  ['a host whose name has no answer yet', broken('EAI_AGAIN'), 'any', 'while-outage', 'ro'],
  ['a broken connection', broken('ECONNRESET'), 'repeatable', 'while-outage', 'mro'],
  ['an unknown host', broken('ENOTFOUND'), 'none', 'never', 'mro'],
  ['a closed client', broken('UND_ERR_DESTROYED'), 'none', 'never', 'mro'],
  ['a call timeout', new CallTimeoutError(name, 1, 'answer'), 'none', 'never', 'mro'],
  ['502 of a proxy', answer(502), 'repeatable', 'while-outage', 'ro'],
  ['504 of the service', answer(504, { code: 'c' }), 'repeatable', 'never', 'r'],
  ['401', answer(401), 'none', 'never', 'o'],
  ['403', answer(403), 'none', 'never', 'o'],
  ['503 without Chromium', answer(503, { code: 'no_chromium' }), 'none', 'never', 'o'],
  ['429', answer(429), 'repeatable', 'until-deadline', ''],
  ['429 with Retry-After', answer(429, { retryAfter: 1 }), 'any', 'until-deadline', ''],
  ['500 with Retry-After', answer(500, { retryAfter: 1 }), 'repeatable', 'until-deadline', 'r'],
  ['503 with Retry-After', answer(503, { retryAfter: 1 }), 'any', 'until-deadline', 'ro'],
  ['529', answer(529), 'none', 'until-deadline', ''],
  ['408', answer(408), 'repeatable', 'never', 'r'],
  ['501', answer(501), 'none', 'never', 'r'],
  ['400', answer(400), 'none', 'never', ''],
  ['409 with x-should-retry: true', answer(409, { shouldRetry: true }), 'any', 'never', ''],
  ['429 with x-should-retry: false', answer(429, { shouldRetry: false, retryAfter: 1 }), 'none', 'never', ''],
  ['a success that is not JSON', answer(200), 'none', 'never', 'm'],
  ['an error of another kind', new Error('other'), 'none', 'never', 'mr'],
];

for (const [title, error, resend, askAgain, flags] of cases) {
  test(`the reaction to ${title} is right`, () => {
    expect(policyFor(error)).toEqual({
      resend,
      askAgain,
      mayHaveWorked: flags.includes('m'),
      replace: flags.includes('r'),
      outage: flags.includes('o'),
    });
  });
}
