import type { Credential, credentials as operations } from '../../contract/credentials.ts';
import { totpCode } from './totp.ts';
import type { Clock } from '../process/clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { CredentialStore } from './credentials.ts';

/** Handles the operations that create, list, change and delete stored credentials, and return one-time codes. */
export function credentialHandlers(store: CredentialStore, clock: Clock): HandlerTree<typeof operations> {
  return {
    create: ({ body, caller }) => withCode(store.create(caller.projectId, body), body.totp_secret),
    list: ({ query, caller }) => store.list(caller.projectId, query),
    retrieve: ({ params, caller }) => store.get(caller.projectId, params.id_or_name),
    update: ({ params, body, caller }) =>
      withCode(store.update(caller.projectId, params.id_or_name, body), body.totp_secret),
    delete: ({ params, caller }) => store.delete(caller.projectId, params.id_or_name),
    totpCode({ params, caller }) {
      const { code, expiresAt } = totpCode(store.totpSecret(caller.projectId, params.id_or_name), clock.now());
      return { code, expires_at: new Date(expiresAt).toISOString() };
    },
  };

  /** Adds the current code, so that the person who set the secret can compare it with the authenticator app's. */
  function withCode(credential: Credential, secret: string | undefined): Credential {
    if (!secret) return credential;
    const { code, expiresAt } = totpCode(secret, clock.now());
    return { ...credential, totp_code: code, totp_code_expires_at: new Date(expiresAt).toISOString() };
  }
}
