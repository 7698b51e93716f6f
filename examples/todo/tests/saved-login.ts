import { fileURLToPath } from 'node:url';

/** Where the storage state of alice, logged in, is kept. */
export const savedLogin = fileURLToPath(new URL('../.auth/alice.json', import.meta.url));
