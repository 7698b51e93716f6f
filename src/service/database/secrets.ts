import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { OperationError } from '../../contract/errors.ts';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts and decrypts the secrets in the database. The key is in a file beside the database, with mode 0600. It is
 * created with the first secret. A person with both files can read the secrets.
 */
export class Secrets {
  readonly #file: string | undefined;
  #key: Buffer | undefined;

  /** Without a `file` the key is in memory only. */
  constructor(file?: string) {
    this.#file = file;
  }

  /** Reads the key, if there is one. Throws if its file can't be read or is damaged. */
  load(): void {
    this.#key ??= this.#stored();
  }

  /** Encrypts a secret. `place` names its row and column. Only `open` with the same place can decrypt it. */
  seal(secret: string, place: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, (this.#key ??= this.#stored() ?? this.#make()), nonce).setAAD(
      Buffer.from(place),
    );
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /**
   * Decrypts a secret. Throws `unavailable` if the key is missing or wrong, or if it was encrypted for another place.
   */
  open(text: string, place: string): string {
    const key = (this.#key ??= this.#stored());
    if (!key) throw doesNotOpen('is missing');
    const sealed = Buffer.from(text, 'base64');
    const tagEnd = nonceBytes + tagBytes;
    try {
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(nonceBytes, tagEnd));
      return Buffer.concat([decipher.update(sealed.subarray(tagEnd)), decipher.final()]).toString('utf8');
    } catch (error) {
      throw doesNotOpen('has another key', error);
    }
  }

  #stored(): Buffer | undefined {
    if (this.#file === undefined || !existsSync(this.#file)) return undefined;
    const key = Buffer.from(readFileSync(this.#file, 'utf8').trim(), 'base64url');
    if (key.length !== keyBytes) throw doesNotOpen('is damaged');
    return key;
  }

  /** Creates the key. Writes it to the disk before the first secret is encrypted with it. */
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
  const message = `a stored secret cannot be decrypted, because the file secrets-key in the data directory ${reason}: restore the file, or delete it and store the secrets again`;
  return new OperationError('unavailable', message, { cause });
}
