import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';

type Undici = typeof import('undici');

const require = createRequire(import.meta.url);

/**
 * The parts of undici, the HTTP library, that the client uses. The whole of undici takes three times as long to load, and
 * each worker waits for it before its first browser.
 */
export const { Pool, errors } = loadParts();

function loadParts(): Pick<Undici, 'Pool' | 'errors'> {
  try {
    const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as Undici['Dispatcher'];
    // As undici's main file does.
    Dispatcher.prototype.request = require('undici/lib/api/api-request.js') as Dispatcher['request'];
    return {
      Pool: require('undici/lib/dispatcher/pool.js') as Undici['Pool'],
      errors: require('undici/lib/core/errors.js') as Undici['errors'],
    };
  } catch {
    // Another version of undici has other files.
    return require('undici') as Undici;
  }
}
