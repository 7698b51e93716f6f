import type { CanReauthReason, CredentialSelector } from '../../contract/auth-connections.ts';
import type { LoginNeed } from './connections-table.ts';

/** Whether a connection can log in again by itself, and the reason. */
export function canReauth(
  needs: readonly LoginNeed[] | undefined,
  credential: CredentialSelector | undefined,
  stored: { exists: boolean; hasTotpSecret: boolean },
): { can: boolean; reason: CanReauthReason } {
  if (needs === undefined) return no('no_prior_successful_login');
  if (!credential || !stored.exists) return no('no_credential');
  if (needs.includes('external_action')) return no('requires_external_action');
  if (needs.includes('sms')) return no('requires_sms_code');
  if (needs.includes('email')) return no('requires_email_code');
  if (needs.includes('totp') && !stored.hasTotpSecret) return no('requires_totp_without_secret');
  if ('provider' in credential) return { can: true, reason: 'external_credential' };
  return { can: true, reason: needs.length === 0 ? 'has_credential' : 'requirements_satisfiable' };
}

function no(reason: CanReauthReason) {
  return { can: false, reason };
}
