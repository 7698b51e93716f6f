import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { OperationError } from '../../contract/errors.ts';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals stored secrets with a key of its own. The key is created with the first secret, in a file beside the database
 * with mode 0600. A person with both files can read the secrets.
 */
export class Secrets {
  readonly #file: string | undefined;
  #key: Buffer | undefined;

  /** Without a `file` the key is in memory only. */
  constructor(file?: string) {
    this.#file = file;
  }

  /** `place` names the row and column of the secret. The sealed value can be opened only for the same place. */
  seal(secret: string, place: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, (this.#key ??= this.#stored() ?? this.#make()), nonce).setAAD(
      Buffer.from(place),
    );
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** Throws `unavailable` if the key is missing or wrong, or if the value was sealed for another place. */
  open(text: string, place: string): string {
    const key = (this.#key ??= this.#stored());
    if (!key) throw doesNotOpen('is gone');
    const sealed = Buffer.from(text, 'base64');
    const tagEnd = nonceBytes + tagBytes;
    try {
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(nonceBytes, tagEnd));
      return Buffer.concat([decipher.update(sealed.subarray(tagEnd)), decipher.final()]).toString('utf8');
    } catch (error) {
      throw doesNotOpen('is another one', error);
    }
  }

  #stored(): Buffer | undefined {
    if (this.#file === undefined || !existsSync(this.#file)) return undefined;
    const key = Buffer.from(readFileSync(this.#file, 'utf8').trim(), 'base64url');
    if (key.length !== keyBytes) throw doesNotOpen('is damaged');
    return key;
  }

  /** Writes the key to the disk before anything is sealed with it. */
  #make(): Buffer {
    const key = randomBytes(keyBytes);
    if (this.#file === undefined) return key;
    const unfinished = `${this.#file}.tmp`;
    rmSync(unfinished, { force: true });
    const file = openSync(unfinished, 'wx', 0o600);
    try {
      writeSync(file, `${key.toString('base64url')}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, this.#file);
    return key;
  }
}

function doesNotOpen(reason: string, cause?: unknown): OperationError {
  const message = `a stored secret cannot be read, since the key of the data directory's secrets ${reason}: bring it back, or remove it and set the secrets again`;
  return new OperationError('unavailable', message, { cause });
}
