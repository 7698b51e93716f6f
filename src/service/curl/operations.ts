import type { curl } from '../../contract/curl.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Handler } from '../http/handler.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import { curlOf } from './curl.ts';
import { refuseOwnPort } from './net-error.ts';

/** The largest body of an answer, in bytes. The service's memory holds it twice: as received, and as JSON. */
const largestBody = 10 * 1024 * 1024;

/**
 * Handles the operation `curl`: sends an HTTP request through a session's browser, and returns the answer as JSON.
 * Refuses URLs at `ownPort`, the port of the service itself.
 */
export function curlHandler(sessions: Sessions, ownPort: () => number): Handler<typeof curl> {
  return ({ body, ...request }) =>
    inSession(sessions, request, async (session) => {
      const startedAt = performance.now();
      const { body: text, response_encoding: encoding, ...target } = body;
      refuseBody(target.method, text);
      const sent = { ...target, content: text === undefined ? undefined : Buffer.from(text) };
      const options = {
        check: (url: string) => refuseOwnPort(url, ownPort()),
        signal: AbortSignal.any([request.signal, session.lease.signal]),
        limitsBody: true,
      };
      return await curlOf(session).send(sent, options, async (answer) => {
        const content = await whole(answer.body, request.waiting());
        return {
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          body: content.toString(encoding),
          duration_ms: Math.round(performance.now() - startedAt),
        };
      });
    });
}

/** Throws `bad_request` for a body that Chromium would not send. */
export function refuseBody(method: string, body: string | Buffer | undefined): void {
  if (body && body.length > 0 && (method === 'GET' || method === 'HEAD'))
    throw invalidField('body', `a ${method} request can't have one: leave it out`);
}

async function whole(body: AsyncGenerator<Buffer>, waiting: Claim): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    waiting.take(part.length);
    parts.push(part);
    size += part.length;
    if (size > largestBody)
      throw new OperationError(
        'request_failed',
        `the target's answer has more than ${largestBody} bytes: use the endpoint curl/raw, which streams the answer`,
      );
  }
  return Buffer.concat(parts);
}
