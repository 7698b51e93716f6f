import { Hono } from 'hono';
import { OperationError } from '../../contract/errors.ts';
import { metricsPath } from '../http/app.ts';
import type { Pages } from '../http/document.ts';
import { bearerToken, type ApiKeyIdentity } from '../http/handler.ts';
import { sameToken } from '../process/id.ts';
import type { Metrics } from './metrics.ts';

type Identify = (token: string) => ApiKeyIdentity | undefined;

/** Answers `/metrics`. A scraper's bearer token is the metrics token, or an API key of the organization. */
export function metricsRoute(metrics: Metrics, token: string | undefined, identify: Identify): Pages {
  const pages: Pages = new Hono();
  pages.get(metricsPath, async (context) => {
    const given = bearerToken(context.env.incoming);
    if (given === undefined || token === undefined || !sameToken(given, token)) refuseOthers(given, identify);
    const { contentType, text } = await metrics.read();
    return context.body(text, 200, { 'content-type': contentType, 'cache-control': 'no-store' });
  });
  return pages;
}

/** Throws unless the token is an API key of the organization. */
function refuseOthers(token: string | undefined, identify: Identify): void {
  const apiKey = token === undefined ? undefined : identify(token);
  if (!apiKey) throw new OperationError('unauthorized', 'send the metrics token or an API key as a bearer token');
  if (apiKey.projectId !== undefined)
    throw new OperationError(
      'forbidden',
      "a project's key can't read the metrics of all projects: send the metrics token or an organization key",
    );
}
