import { fileURLToPath } from 'node:url';

/** The file with the storage state of alice after her login. */
export const savedLogin = fileURLToPath(new URL('../.auth/alice.json', import.meta.url));
