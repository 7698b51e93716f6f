import type { IncomingMessage } from 'node:http';
import { OperationError } from '../../contract/errors.ts';
import { launchOptions, type LaunchOptions } from '../../contract/values.ts';

/** The header in which Playwright Test sends the `launchOptions` of a project, as JSON. */
const header = 'x-playwright-launch-options';

/** The launch options of a client. Throws `bad_request`. */
export function readLaunchOptions({ headers }: IncomingMessage): LaunchOptions | undefined {
  const text = [headers[header] ?? []].flat()[0];
  if (text === undefined) return undefined;
  const { data, error } = launchOptions.safeParse(parsed(text));
  if (data) return data;
  const [issue] = error.issues;
  throw new OperationError('bad_request', `${['launchOptions', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OperationError('bad_request', `the header ${header} is not JSON`);
  }
}
