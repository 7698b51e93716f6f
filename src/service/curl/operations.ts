import type { curl } from '../../contract/curl.ts';
import { invalidField, OperationError } from '../../contract/errors.ts';
import type { Handler } from '../http/handler.ts';
import type { HeldSessions } from '../sessions/held-sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import { curlOf } from './curl.ts';
import { refuseOwnPort } from './own-port.ts';

/** In bytes. The whole body is in the service's memory, and again in the answer. */
const largestBody = 10 * 1024 * 1024;

/** `ownPort` is the service's, which browsers may not reach by this way. */
export function curlHandler(sessions: HeldSessions, ownPort: () => number): Handler<typeof curl> {
  return ({ body, ...request }) =>
    inSession(sessions, request, async (session) => {
      const startedAt = performance.now();
      const { body: text, response_encoding: encoding, ...target } = body;
      refuseBody(target.method, text);
      const answer = await curlOf(session).send(
        { ...target, content: text === undefined ? undefined : Buffer.from(text) },
        {
          check: (url) => refuseOwnPort(url, ownPort()),
          signal: AbortSignal.any([request.signal, session.hold]),
          limitsBody: true,
        },
      );
      const content = await whole(answer.body);
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: content.toString(encoding),
        duration_ms: Math.round(performance.now() - startedAt),
      };
    });
}

/** Throws `bad_request` for a body that Chromium would not send. */
export function refuseBody(method: string, body: string | Buffer | undefined): void {
  if (body && body.length > 0 && (method === 'GET' || method === 'HEAD'))
    throw invalidField('body', `${method} requests have no body`);
}

async function whole(body: AsyncGenerator<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
    if (size > largestBody)
      throw new OperationError(
        'request_failed',
        `the target's answer has more than ${largestBody} bytes: read it as a stream (curl/raw)`,
      );
  }
  return Buffer.concat(parts);
}
