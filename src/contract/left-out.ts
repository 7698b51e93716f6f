/**
 * The operations of the hosted service that this service doesn't have, by the names of the hosted service's client. It
 * answers them with 501. An operation that the contract gets is removed here.
 */
export const leftOut: Readonly<Record<string, `${'GET' | 'POST' | 'DELETE'} /${string}`>> = {
  'browsers.loadExtensions': 'POST /browsers/{id}/extensions',
  'extensions.upload': 'POST /extensions',
  'extensions.list': 'GET /extensions',
  'extensions.downloadFromChromeStore': 'GET /extensions/from_chrome_store',
  'extensions.download': 'GET /extensions/{id_or_name}',
  'extensions.get': 'GET /extensions/{id_or_name}/metadata',
  'extensions.delete': 'DELETE /extensions/{id_or_name}',
  'auth.connections.exchange': 'POST /auth/connections/{id}/exchange',
};
