import { createHmac } from 'node:crypto';
import { sameToken } from './id.ts';

/**
 * The content of a link that people open: the API key that asked for it, its expiry in ms since the epoch, and whether it
 * only shows the linked resource.
 */
export type Link = { apiKeyId: string; expiresAt: number; isReadOnly: boolean };

const hourMs = 3600 * 1000;
/** The part that makes a token read-only. The signature covers it, so that nobody can remove it. */
const readOnlyMark = 'view';

/**
 * Creates the token of a link, for example to a live view. `secret` is the `newToken` of the linked resource. The link
 * works for `lifeMs` and up to an hour more, so that a key gets the same link again within an hour.
 */
export function linkToken(
  secret: string,
  { apiKeyId, now, lifeMs, isReadOnly }: { apiKeyId: string; now: number; lifeMs: number; isReadOnly?: boolean },
) {
  const expiresAt = Math.ceil((now + lifeMs) / hourMs) * hourMs;
  const [id] = secret.split('.', 1);
  const signed = `${id}.${apiKeyId}.${expiresAt.toString(36)}${isReadOnly ? `.${readOnlyMark}` : ''}`;
  return `${signed}.${signatureOf(signed, secret)}`;
}

/** Reads a link's key, expiry and right. Doesn't check the signature. */
export function readLink(token: string): Link | undefined {
  const [, apiKeyId, expiry, ...rest] = token.split('.');
  const isReadOnly = rest.length === 2 && rest[0] === readOnlyMark;
  if (apiKeyId === undefined || expiry === undefined || (rest.length !== 1 && !isReadOnly)) return undefined;
  return { apiKeyId, expiresAt: Number.parseInt(expiry, 36), isReadOnly };
}

/** Whether a token was made with this secret. Doesn't check expiry and API key. */
export function isSigned(token: string, secret: string): boolean {
  const end = token.lastIndexOf('.');
  return sameToken(token.slice(end + 1), signatureOf(token.slice(0, Math.max(end, 0)), secret));
}

function signatureOf(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
