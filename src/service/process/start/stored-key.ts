import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from './data-directory.ts';

/** Returns the service's API key from its data directory. Creates a new key if it is missing or revoked. */
export async function storedKey(
  dataDirectory: string | undefined,
  isRevoked: (key: string) => boolean,
): Promise<string> {
  if (dataDirectory === undefined) return newKey();
  const file = join(dataDirectory, 'api-key');
  const stored = existsSync(file) ? (await readFile(file, 'utf8')).trim() : '';
  if (stored !== '' && !isRevoked(stored)) return stored;
  const key = newKey();
  await writePrivateFile(file, `${key}\n`);
  return key;
}

function newKey(): string {
  return `pwp_${randomBytes(32).toString('base64url')}`;
}
