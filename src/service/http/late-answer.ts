import type { ServerResponse } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import { plainAnswer } from './answer.ts';

/**
 * Answers a request when its work is done. Thousands of requests may wait at the same time, so this holds nothing of
 * the router. `failed` makes the answer for an error.
 */
export async function answerLate(
  operation: Operation,
  work: Promise<unknown>,
  { outgoing, failed }: { outgoing: ServerResponse; failed: (error: unknown) => Response },
): Promise<void> {
  const answer = await work.then((value) => plainAnswer(operation, value)!).catch(failed);
  const body = Buffer.from(await answer.arrayBuffer());
  const length = body.length > 0 && { 'content-length': body.length };
  outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...length }).end(body);
}
