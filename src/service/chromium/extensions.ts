import { invalidField, unsupportedFields } from '../../contract/errors.ts';
import { CdpError, type CdpConnection } from './cdp/cdp-connection.ts';
import type { Params } from './cdp/cdp-protocol.ts';

/**
 * Loads an unpacked extension, for all browser contexts, and returns its id. Throws `not_implemented` if this Chromium
 * can't load extensions, and `bad_request` with Chromium's reason. `name` is the extension's name in messages.
 */
export async function loadExtension(
  cdp: CdpConnection,
  { name, directory }: { name: string; directory: string },
): Promise<string> {
  // Older versions ignore the second parameter. Their extensions act in the default context only.
  const params = { path: directory, enableInIncognito: true } as Params<'Extensions.loadUnpacked'>;
  try {
    return (await cdp.send('Extensions.loadUnpacked', params)).id;
  } catch (error) {
    if (!(error instanceof CdpError)) throw error;
    if (/wasn't found|not available/i.test(error.message)) throw withoutExtensions();
    const reason = error.message.replace(/^.*?: /, '').replaceAll(directory, name);
    throw invalidField('extensions', `Chromium refused ${name}: ${reason}`);
  }
}

/** Removes an extension that `loadExtension` loaded. */
export async function unloadExtension(cdp: CdpConnection, id: string): Promise<void> {
  await cdp.send('Extensions.uninstall' as 'Extensions.loadUnpacked', { id } as never);
}

function withoutExtensions() {
  return unsupportedFields(
    ['extensions'],
    "the service's browser can't load any. chrome-headless-shell has no extensions: let the service use Chromium or Chrome, for example by `npx playwright install chromium`",
  );
}
