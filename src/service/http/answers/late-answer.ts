import type { ServerResponse } from 'node:http';
import type { Operation } from '../../../contract/operation.ts';
import { plainAnswer } from './answer.ts';

/**
 * Answers a request that may wait long for its work. Thousands of requests may wait at the same time, so it keeps no
 * object of the router in memory, and one promise only. `failed` makes the answer for an error.
 */
export function answerLate(
  operation: Operation,
  work: unknown,
  { outgoing, failed }: { outgoing: ServerResponse; failed: (error: unknown) => Response },
): void {
  const succeed = (value: unknown) => {
    let answer: Response;
    try {
      answer = plainAnswer(operation, value)!;
    } catch (error) {
      answer = failed(error);
    }
    return send(answer, outgoing);
  };
  void Promise.resolve(work).then(succeed, (error: unknown) => send(failed(error), outgoing));
}

async function send(answer: Response, outgoing: ServerResponse): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer());
  const length = body.length > 0 && { 'content-length': body.length };
  outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...length }).end(body);
}
