import type { FlowRecord, TimelineEntry } from '../connections-table.ts';
import type { FlowState, LoginFlow } from './flow.ts';

/** The part of a login's state that is stored. */
export function recordOf(state: FlowState): FlowRecord {
  const { id, type, status, step, startedAt, expiresAt, errorCode, errorMessage, websiteError, ssoProvider } = state;
  return { id, type, status, step, startedAt, expiresAt, errorCode, errorMessage, websiteError, ssoProvider };
}

/** The entry for a login in its connection's timeline. `now` is in ms since the epoch. */
export function flowEntry(
  connectionId: string,
  flow: FlowRecord,
  browser: LoginFlow['browser'],
  now: number,
): TimelineEntry {
  const { id, type, status, step, startedAt, errorCode, errorMessage, websiteError } = flow;
  const details = {
    status,
    step: status === 'EXPIRED' ? 'EXPIRED' : step,
    error_code: errorCode,
    error_message: errorMessage,
    website_error: websiteError,
    browser_session_id: browser?.sessionId,
    replay_id: browser?.replayId,
    updated_at: new Date(now).toISOString(),
  } as const;
  return { id, connectionId, type: type === 'LOGIN' ? 'login' : 'reauth', at: startedAt, details };
}
