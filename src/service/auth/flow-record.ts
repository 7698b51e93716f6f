import type { FlowRecord, TimelineEntry } from './connection-record.ts';
import type { FlowState, LoginFlow } from './flow.ts';

/** What of a login is kept. */
export function recordOf(state: FlowState): FlowRecord {
  const { id, type, status, step, startedAt, expiresAt, errorCode, errorMessage, websiteError, ssoProvider } = state;
  return { id, type, status, step, startedAt, expiresAt, errorCode, errorMessage, websiteError, ssoProvider };
}

/** A login as the timeline tells it. `now` in ms since the epoch. */
export function flowEntry(connectionId: string, flow: FlowRecord, browser: LoginFlow['browser'], now: number): TimelineEntry {
  const { id, type, status, step, startedAt, errorCode, errorMessage, websiteError } = flow;
  const details = {
    status,
    step: status === 'EXPIRED' ? 'EXPIRED' : step,
    ...(errorCode !== undefined && { error_code: errorCode }),
    ...(errorMessage !== undefined && { error_message: errorMessage }),
    ...(websiteError !== undefined && { website_error: websiteError }),
    ...(browser && { browser_session_id: browser.sessionId }),
    ...(browser?.replayId !== undefined && { replay_id: browser.replayId }),
    updated_at: new Date(now).toISOString(),
  } as const;
  return { id, connectionId, type: type === 'LOGIN' ? 'login' : 'reauth', at: startedAt, details };
}
