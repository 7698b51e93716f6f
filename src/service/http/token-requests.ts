import type { IncomingMessage, ServerResponse } from 'node:http';
import { OperationError } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import { browserPath, type ApiKeyIdentity } from './handler.ts';

/** The session that a token belongs to. */
export type TokenSession = { id: string; projectId: string };

/**
 * Answers requests below a session's `base_url`. They have no API key, but the session's token as the query parameter
 * `jwt`.
 */
export type TokenRequests = {
  /** Returns nothing for a token that doesn't work any more. */
  find(token: string): TokenSession | undefined;
  /** Answers `curl/raw`, with any method. */
  raw(session: TokenSession, exchange: RawExchange): Promise<void>;
};

export type RawExchange = {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  search: URLSearchParams;
  /** Aborts if the caller hangs up. */
  signal: AbortSignal;
  /** Counts the bytes of the request that wait in memory. */
  waiting: () => Claim;
};

export const rawPath = `${browserPath}/curl/raw`;

/** The path below `base_url` of an operation that acts in a session. */
export function tokenPath({ path }: Operation): string {
  return path.replace('/browsers/{id}', browserPath);
}

/** The path and query of the same request for callers with an API key: without the token. */
export function withoutToken(url: string, id: string): string {
  const { pathname, searchParams } = new URL(url, 'http://service');
  searchParams.delete('jwt');
  const query = searchParams.toString();
  return `/browsers/${id}${pathname.slice(browserPath.length)}${query && `?${query}`}`;
}

/** Throws `unauthorized` for a token that doesn't work. */
export function sessionOf(requests: TokenRequests, url: string): TokenSession {
  const session = requests.find(new URL(url, 'http://service').searchParams.get('jwt') ?? '');
  if (session) return session;
  throw new OperationError(
    'unauthorized',
    'the token (jwt) is unknown: the session has ended, or its URLs were replaced by newer ones',
  );
}

/** The caller of a request with a session's token. Stands in for an API key. */
export function holderOf({ id, projectId }: TokenSession): ApiKeyIdentity {
  const name = `holder of the session ${id}`;
  return { id, name, email: `${id}@session.invalid`, projectId, isOfApp: false };
}
