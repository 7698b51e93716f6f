import { expect } from '@playwright/test';
import { contract } from '../../src/contract/contract.ts';
import { commonErrors, errorObject } from '../../src/contract/errors.ts';
import { operationsOf, type Operation } from '../../src/contract/operation.ts';
import { pageHeaders } from '../../src/contract/pagination.ts';

export type ReceivedAnswer = { method: string; path: string; status: number; headers: Headers; text: string };

/** Holds an answer against the contract: its status is documented, its body is what that status says. */
export function expectConformance({ method, path, status, headers, text }: ReceivedAnswer): void {
  const what = `${method} ${path} answered ${status} ${text.slice(0, 500)}`;
  expect(headers.get('x-request-id'), what).toBeTruthy();
  if (status >= 400) {
    const { data: answer, error } = errorObject.safeParse(JSON.parse(text));
    expect(error, what).toBeUndefined();
    const isHopeless = status === 409 || status === 507 || ['recording_failed', 'profile_not_saved'].includes(answer?.code ?? '');
    expect(headers.get('x-should-retry'), what).toBe(isHopeless ? 'false' : null);
  }
  const operation = operationAt(method, path);
  if (!operation) return;
  const documented = [...Object.keys(operation.responses).map(Number), ...operation.errors, ...commonErrors];
  expect(documented, what).toContain(status);
  const response = operation.responses[status];
  if (response?.kind === 'empty') {
    expect(text, what).toBe('');
    expect(headers.get('content-type'), what).toBeNull();
  }
  if (response?.kind === 'json') expect(response.schema.safeParse(JSON.parse(text)).error, what).toBeUndefined();
  if (response?.kind === 'events') {
    expect(headers.get('content-type'), what).toBe('text/event-stream');
    expect(headers.get('cache-control'), what).toBe('no-store');
    // Public clients fail on a frame without data, and take several lines of data for text.
    const [cut, ...frames] = text.split('\n\n').toReversed();
    expect(cut, what).toBe('');
    for (const frame of frames) {
      if (frame !== ':') expect(response.event.safeParse(JSON.parse(/^data: (.*)$/.exec(frame)?.[1] ?? '')).error, frame).toBeUndefined();
    }
  }
  if (response?.kind === 'list') {
    expect(response.item.array().safeParse(JSON.parse(text)).error, what).toBeUndefined();
    expect(headers.get(pageHeaders.hasMore), what).toMatch(/^(true|false)$/);
    expect(headers.get(pageHeaders.nextOffset), what).toMatch(/^\d+$/);
  }
}

function operationAt(method: string, path: string): Operation | undefined {
  const { pathname } = new URL(path, 'http://service');
  for (const [, operation] of operationsOf(contract)) {
    const pattern = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    if (operation.method === method && pattern.test(pathname)) return operation;
  }
  return undefined;
}
