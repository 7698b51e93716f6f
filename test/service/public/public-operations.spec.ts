import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';
import { publicOperations } from '../../../scripts/public-operations.mjs';
import { test } from '../../support/service/service.ts';

const operations = publicOperations(fileURLToPath(new URL('../../..', import.meta.url)));

test("handles each operation of the hosted service, or answers 501 with the operation's name", async ({
  service: { call },
}) => {
  expect(operations).toHaveLength(135);
  for (const request of operations) {
    const [method, path] = request.split(' ') as [string, string];
    const { status, body } = await call(method, path.replaceAll('{}', 'some'), method === 'GET' ? undefined : {});
    expect(status, request).not.toBe(405);
    if (status === 404) expect(body.message, request).not.toContain('this service has no route');
    if (status === 501) expect(body.message, request).toMatch(/this service does not support [\w.]+ \(/);
  }
});
