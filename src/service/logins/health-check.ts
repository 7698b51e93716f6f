import { OperationError } from '../../contract/errors.ts';
import type { ConnectionRecord, TimelineEntry } from './connections-table.ts';
import { LoginError } from './reading/login-form.ts';
import { LoginSession, type LoginSessionDependencies } from './flow/login-session.ts';

/** The result of a health check, for the timeline. If the check failed, the status is the previous one. */
export type Finding = TimelineEntry['details'] & { status: ConnectionRecord['status'] };

/** Checks in a new browser whether a profile is logged in. Doesn't save the profile. Never rejects. */
export async function checkHealth(
  record: ConnectionRecord,
  dependencies: LoginSessionDependencies,
  signal: AbortSignal,
): Promise<Finding> {
  const { projectId, profileName, domain, settings, postLoginUrl, status: previous } = record;
  let sessionId: string | undefined;
  const finding = (status: Finding['status'], error?: { code: string; message: string }): Finding => ({
    status,
    previous_status: previous,
    browser_session_id: sessionId,
    error_code: error?.code,
    error_message: error?.message,
  });
  try {
    await using session = await LoginSession.open(dependencies, {
      projectId,
      profileName,
      proxyId: settings.proxyId,
      saveChanges: false,
      isRecorded: false,
      signal,
    });
    sessionId = session.id;
    const { loginUrl, allowedDomains } = settings;
    const { LoginPage } = await import('./robot/login-page.ts');
    await using page = await LoginPage.open(session, {
      domain,
      loginUrl,
      postLoginUrl,
      allowedDomains,
      signal,
    });
    const { kind } = await page.state();
    return finding(kind === 'logged_in' ? 'AUTHENTICATED' : 'NEEDS_AUTH');
  } catch (error) {
    if (error instanceof LoginError) return finding(previous, error);
    if (error instanceof OperationError) return finding(previous, { code: 'browser_error', message: error.message });
    if (!signal.aborted) console.error(`the health check of the auth connection ${record.id} failed:`, error);
    return finding(previous, {
      code: 'internal_error',
      message: 'the service failed during the check of the login: find the reason in its log',
    });
  }
}
