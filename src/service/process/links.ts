import { createHmac } from 'node:crypto';
import { sameToken } from './id.ts';

/** The content of a link that people open: the API key that asked for it, and its expiry in ms since the epoch. */
export type Link = { apiKeyId: string; expiresAt: number };

const hourMs = 3600 * 1000;

/**
 * Creates the token of a link, for example to a live view. `secret` is the `newToken` of the linked resource. The link
 * works for `lifeMs` and up to an hour more, so that a key gets the same link again within an hour.
 */
export function linkToken(
  secret: string,
  { apiKeyId, now, lifeMs }: { apiKeyId: string; now: number; lifeMs: number },
) {
  const expiresAt = Math.ceil((now + lifeMs) / hourMs) * hourMs;
  const [id] = secret.split('.', 1);
  const signed = `${id}.${apiKeyId}.${expiresAt.toString(36)}`;
  return `${signed}.${signatureOf(signed, secret)}`;
}

/** Reads a link's key and expiry. Doesn't check the signature. */
export function readLink(token: string): Link | undefined {
  const [, apiKeyId, expiry, signature, more] = token.split('.');
  if (apiKeyId === undefined || expiry === undefined || signature === undefined || more !== undefined) return undefined;
  return { apiKeyId, expiresAt: Number.parseInt(expiry, 36) };
}

/** Whether a token was made with this secret. Doesn't check expiry and API key. */
export function isSigned(token: string, secret: string): boolean {
  const end = token.lastIndexOf('.');
  return sameToken(token.slice(end + 1), signatureOf(token.slice(0, Math.max(end, 0)), secret));
}

function signatureOf(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
