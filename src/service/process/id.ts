import { randomBytes, timingSafeEqual } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new identifier: 24 lower-case letters and digits, 120 random bits. */
export function newId(): string {
  return Array.from(randomBytes(24), (byte) => alphabet[byte & 31]).join('');
}

/** A new bearer token: the id of the session, replay or login that it opens, then 192 secret bits. */
export function newToken(id: string): string {
  return `${id}.${randomBytes(24).toString('base64url')}`;
}

/** Compares two tokens. Takes the same time for each wrong token, so that an attacker can't guess it part by part. */
export function sameToken(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
