import { wrongScheme } from '../client/wrong-scheme.ts';
import { CommandError } from './command-error.ts';
import type { ServiceAddress } from './connection.ts';

/** In milliseconds. */
const answerTimeout = 10_000;

/** Sends a request to a service's dashboard. Throws `CommandError` if the service doesn't answer or refuses the API key. */
export async function dashboardRequest(
  { baseURL, apiKey }: ServiceAddress,
  [method, path]: readonly ['GET' | 'POST', string],
  { signal, project }: { signal: AbortSignal; project?: string | undefined },
): Promise<Response> {
  const url = `${baseURL.replace(/\/+$/, '')}${path}`;
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...(project && { 'x-kernel-project-id': project }) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeout)]),
    redirect: 'error',
  }).catch(async (error: unknown) => {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    const wrong = await wrongScheme(new URL(url), cause?.code, signal);
    if (wrong) throw new CommandError(`${wrong.problem}. ${wrong.advice}`);
    throw new CommandError(`the service at ${baseURL} doesn't answer (${cause?.code ?? message}): check that it runs`);
  });
  const { status } = response;
  if (status === 401 || status === 403)
    throw new CommandError(`the service at ${baseURL} refuses the API key (${status}): check PLAYWRIGHT_POOL_API_KEY`);
  return response;
}
