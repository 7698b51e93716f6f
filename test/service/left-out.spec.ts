import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { leftOut } from '../../src/contract/left-out.ts';
import { test } from '../support/service.ts';

test('operations that the service leaves out answer 501 with their name, and forbid a retry', async ({
  service: { call },
}) => {
  for (const [name, request] of Object.entries(leftOut)) {
    const [method, path] = request.split(' ') as [string, string];
    const answer = await call(method, path.replaceAll(/\{\w+\}/g, 'some'), method === 'POST' ? {} : undefined);
    expect(answer, name).toMatchObject({ status: 501, body: { code: 'not_implemented' } });
    expect(answer.body.message).toContain(`${name} (${request})`);
    expect(answer.headers.get('x-should-retry')).toBe('false');
  }
});

test('refuses a deployment from a repository with 501', async ({ service }) => {
  const kernel = new Kernel({ baseURL: service.url, apiKey: service.apiKey });
  const source = { type: 'github', url: 'https://github.com/a/b', ref: 'main', entrypoint: 'index.ts' } as const;
  const deployed = kernel.deployments.create({ source });
  await expect(deployed).rejects.toMatchObject({ status: 501, message: /does not support source/ });
});
