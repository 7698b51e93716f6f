import { randomBytes, timingSafeEqual } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new identifier: 24 lower-case letters and digits, 120 random bits. */
export function newId(): string {
  return Array.from(randomBytes(24), (byte) => alphabet[byte & 31]).join('');
}

/** A new bearer token that begins with the id of what it opens; the rest is the secret. */
export function newToken(id: string): string {
  return `${id}.${randomBytes(24).toString('base64url')}`;
}

/** Compares two tokens in a time that tells nothing of where they differ. */
export function sameToken(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
