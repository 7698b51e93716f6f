import type { ServerResponse } from 'node:http';
import type { Operation } from '../../../contract/operation.ts';
import { plainAnswer } from './answer.ts';

/**
 * Answers a request that may wait long for its work. Thousands of requests may wait at the same time, so it keeps no
 * object of the router in memory. `failed` makes the answer for an error.
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
