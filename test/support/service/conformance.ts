import { expect } from '@playwright/test';
import type { z } from 'zod';
import { contract } from '../../../src/contract/contract.ts';
import { errorObject, netFailure } from '../../../src/contract/error-object.ts';
import { errorsOf, operationsOf, type Operation } from '../../../src/contract/operation.ts';
import { limitHeaders, pageHeaders } from '../../../src/contract/headers.ts';

type ReceivedAnswer = { method: string; path: string; status: number; headers: Headers; text: string };

/** Checks an answer against the contract: its status is documented, and its body has the status's shape. */
export function expectConformance(answer: ReceivedAnswer): void {
  const { method, path, status, text } = answer;
  expect(violations(answer), `${method} ${path} answered ${status} ${text.slice(0, 500)}`).toEqual([]);
}

/** The contract's objections to an answer. */
export function violations({ method, path, status, headers, text }: ReceivedAnswer): string[] {
  const found: string[] = [];
  const check = (isRight: boolean, problem: string) => void (isRight || found.push(problem));
  const checkFit = (schema: z.ZodType, json: string) => {
    const { error } = schema.safeParse(JSON.parse(json));
    found.push(...(error?.issues ?? []).map(({ path: at, message }) => `${at.join('.')}: ${message}`));
  };
  check(headers.get('x-request-id') !== null, 'there is no request id');
  if (status >= 400) {
    checkFit(status === 502 ? netFailure : errorObject, text);
    const { code = '' } = JSON.parse(text) as { code?: string };
    const isHopeless =
      [409, 501, 502, 507].includes(status) ||
      ['recording_failed', 'profile_not_saved', 'process_timed_out'].includes(code);
    const isOverLimit = status === 429;
    const { retryAfter, ...limits } = limitHeaders;
    check(
      headers.has(retryAfter) === (isOverLimit || code === 'draining') &&
        Object.values(limits).every((name) => headers.has(name) === isOverLimit),
      'it does not tell the limit that was reached, or when to retry',
    );
    // Whether these have begun to work depends on the operation.
    const mayBeHopeless = code === 'internal_error' || code === 'unavailable';
    check(
      mayBeHopeless || headers.get('x-should-retry') === (isHopeless ? 'false' : null),
      'x-should-retry does not say whether there is hope',
    );
  }
  const operation = operationAt(method, path);
  if (!operation) return found;
  const documented = [...Object.keys(operation.responses).map(Number), ...errorsOf(operation)];
  check(documented.includes(status), 'the status is not documented');
  const response = operation.responses[status];
  if (response?.kind === 'empty') check(text === '' && headers.get('content-type') === null, 'it is not empty');
  if (response?.kind === 'json') checkFit(response.schema, text);
  if (response?.kind === 'events') {
    check(headers.get('content-type') === 'text/event-stream', 'it is no event stream');
    check(headers.get('cache-control') === 'no-store', 'it may be stored');
    // Public clients fail on an event without data, and join several data lines as text.
    const [cut, ...frames] = text.split('\n\n').toReversed();
    check(cut === '', 'a frame is cut off');
    for (const frame of frames)
      if (frame !== ':') checkFit(response.event, /^(?:id: \d+\n)?data: (.*)$/.exec(frame)?.[1] ?? 'null');
  }
  if (response?.kind === 'list' || response?.kind === 'token_list') {
    checkFit(response.item.array(), text);
    const hasMore = headers.get(pageHeaders.hasMore) ?? '';
    const isToken = response.kind === 'token_list';
    const isTold = isToken
      ? hasMore === String(headers.has(pageHeaders.nextPageToken))
      : /^(true|false)$/.test(hasMore);
    check(isTold, 'it does not say whether there is more');
    const next = headers.get(pageHeaders.nextOffset) ?? '';
    check(isToken || /^\d+$/.test(next), 'it does not say where the next page begins');
  }
  return found;
}

function operationAt(method: string, path: string): Operation | undefined {
  const { pathname } = new URL(`http://service${path}`);
  for (const [, operation] of operationsOf(contract)) {
    const pattern = new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    if (operation.method === method && pattern.test(pathname)) return operation;
  }
  return undefined;
}
