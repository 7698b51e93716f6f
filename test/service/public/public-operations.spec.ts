import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';
import { publicOperations } from '../../../scripts/public-operations.mjs';
import { test } from '../../support/service/service.ts';

// No operation starts a browser.
test.use({ serviceOptions: { maxConcurrentSessions: 0 } });

const operations = publicOperations(fileURLToPath(new URL('../../..', import.meta.url)));

test('handles each operation of the hosted service, or answers 501 with its name', async ({ service: { call } }) => {
  expect(operations).toHaveLength(135);
  const others: unknown[] = [];
  for (const request of operations) {
    const [method, path] = request.split(' ') as [string, string];
    const answer = await call(method, path.replaceAll('{}', 'some'), method === 'GET' ? undefined : {});
    const { status, body } = answer;
    const isUnknown = status === 404 && body.message.includes('this service has no route');
    const isNameless = status === 501 && !/this service does not support [\w.]+ \(/.test(body.message);
    if (status === 405 || isUnknown || isNameless) others.push([request, answer]);
  }
  expect(others).toEqual([]);
});
