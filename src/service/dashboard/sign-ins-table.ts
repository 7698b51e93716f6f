import { text, time } from '../database/columns.ts';
import { table } from '../database/table.ts';

/** The people who are signed in to the dashboard. */
export const signInsTable = table('sign_ins', {
  /** SHA-256 of the token in the cookie. */
  hash: text(),
  apiKeyId: text(),
  expiresAt: time(),
});
