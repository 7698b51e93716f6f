import { createHmac, timingSafeEqual } from 'node:crypto';

const periodSeconds = 30;

/** Whether an authenticator app with this secret (base32) shows the code now, one period ago or one period ahead. */
export function isTotp(secret, code) {
  const period = Math.floor(Date.now() / 1000 / periodSeconds);
  return [period - 1, period, period + 1].some((one) => {
    const expected = Buffer.from(codeOf(secret, one));
    return code.length === expected.length && timingSafeEqual(Buffer.from(code), expected);
  });
}

function codeOf(secret, period) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(period));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = digest[digest.length - 1] & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1e6).padStart(6, '0');
}

function fromBase32(text) {
  const bits = Array.from(text, (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}
