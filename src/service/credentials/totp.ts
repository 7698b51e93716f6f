import { createHmac } from 'node:crypto';

/** The parameters of RFC 6238 that authenticator apps and sites use, with HMAC-SHA-1. */
const stepMs = 30_000;
const digits = 6;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * The one-time code of a base32 secret at the time `now`, and the time of the next code. Times are in ms since the
 * epoch.
 */
export function totpCode(secret: string, now: number): { code: string; expiresAt: number } {
  const step = Math.floor(now / stepMs);
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const number = digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fff_ffff;
  return { code: String(number % 10 ** digits).padStart(digits, '0'), expiresAt: (step + 1) * stepMs };
}

/** Decodes base32. The last bits are padding if they don't fill a byte. */
function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}
