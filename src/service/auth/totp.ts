import { createHmac } from 'node:crypto';

/** What authenticator apps and sites agree on: RFC 6238 with HMAC-SHA-1, 30 seconds and 6 digits. */
const stepMs = 30_000;
const digits = 6;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code that a secret in base32 gives at a time, and when the next one follows, both in ms since the epoch. */
export function totpCode(secret: string, now: number): { code: string; expiresAt: number } {
  const step = Math.floor(now / stepMs);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const number = digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fff_ffff;
  return { code: String(number % 10 ** digits).padStart(digits, '0'), expiresAt: (step + 1) * stepMs };
}

/** The bits that do not fill a byte are padding. */
function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}
