import type { Environment } from './find-chromium.ts';

/**
 * The environment with a UTF-8 locale: in any other locale, Chromium can't open a file whose name has characters beyond
 * ASCII.
 */
export function withUtf8(environment: Environment): Environment {
  const { LC_ALL, LC_CTYPE, LANG } = environment;
  if (/utf-?8\b/i.test(LC_ALL || LC_CTYPE || LANG || '')) return environment;
  return { ...environment, [LC_ALL ? 'LC_ALL' : 'LC_CTYPE']: 'C.UTF-8' };
}
