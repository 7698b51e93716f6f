import { signedOut } from './store.browser.ts';

/** An answer with an error. Its message says what to do. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `project` is the project in which an organization key acts. */
export type CallOptions = { body?: unknown; project?: string | undefined; signal?: AbortSignal };

/** A list page. `nextOffset` is the place of the next one, 0 if there is none; some lists have a token instead. */
export type ListPage<T> = { items: T[]; hasMore: boolean; nextOffset: number; nextPageToken?: string };

/** Calls an operation of the service. Resolves to its JSON, or to `undefined`. Throws `ApiError`. */
export async function call<T = unknown>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  return (await parsed(await send(method, path, options))) as T;
}

/** Reads one page of a list. */
export async function listPage<T>(path: string, options: CallOptions = {}): Promise<ListPage<T>> {
  const response = await send('GET', path, options);
  const { headers } = response;
  const token = headers.get('x-next-page-token');
  return {
    items: (await parsed(response)) as T[],
    hasMore: headers.get('x-has-more') === 'true',
    nextOffset: Number(headers.get('x-next-offset') ?? 0),
    ...(token !== null && { nextPageToken: token }),
  };
}

/** Saves an answer as a file of the person. A link couldn't name the project. */
export async function download(path: string, fileName: string, options: CallOptions = {}): Promise<void> {
  const response = await send('GET', path, options);
  const href = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement('a'), { href, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Reads an event stream until its end. Each event of the service is one line of JSON. */
export async function* events<T>(path: string, options: CallOptions): AsyncGenerator<T> {
  const { body } = await send('GET', path, options);
  let rest = '';
  const decoder = new TextDecoder();
  for (const reader = body!.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as T;
  }
}

async function send(method: string, path: string, { body, project, signal }: CallOptions): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: {
      'x-playwright-pool-dashboard': '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(project !== undefined && { 'x-kernel-project-id': project }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new ApiError(0, `The service does not answer: ${String(error)}`);
  });
  if (response.ok) return response;
  if (response.status === 401 && path !== '/dashboard/sign-in') signedOut();
  const answer = (await response.json().catch(() => undefined)) as { message?: string } | undefined;
  throw new ApiError(response.status, answer?.message ?? `The service answered with the status ${response.status}.`);
}

async function parsed(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}
