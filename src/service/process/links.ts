import { createHmac } from 'node:crypto';
import { sameToken } from './id.ts';

/** A link that people open: the API key that it was given to, and its end in ms since the epoch. */
export type Link = { apiKeyId: string; expiresAt: number };

const hourMs = 3600 * 1000;

/**
 * The token of a link to the thing that has this secret, a `newToken`. It works for `lifeMs` and up to an hour more:
 * within an hour, a key gets the same link.
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

/** Whether a token was made with this secret. Says nothing about expiry and API key. */
export function isSigned(token: string, secret: string): boolean {
  const end = token.lastIndexOf('.');
  return sameToken(token.slice(end + 1), signatureOf(token.slice(0, Math.max(end, 0)), secret));
}

function signatureOf(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}
