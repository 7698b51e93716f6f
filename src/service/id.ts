import { randomBytes } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new identifier: 24 lower-case letters and digits, 120 random bits. */
export function newId(): string {
  return Array.from(randomBytes(24), (byte) => alphabet[byte & 31]).join('');
}
