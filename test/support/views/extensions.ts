import { zipOf, type ZipPart } from '../service/uploads.ts';

/**
 * A zip archive of an extension that sets the attribute `data-TAG` of each page, and blocks requests to paths with
 * `blocked`.
 */
export async function extensionZip(tag: string, manifest: object = {}, more: ZipPart[] = []): Promise<Buffer> {
  const content = {
    manifest_version: 3,
    name: tag,
    version: '1.0',
    content_scripts: [{ matches: ['<all_urls>'], js: ['scripts/mark.js'], run_at: 'document_start' }],
    permissions: ['declarativeNetRequest'],
    host_permissions: ['<all_urls>'],
    declarative_net_request: { rule_resources: [{ id: 'rules', enabled: true, path: 'rules.json' }] },
    ...manifest,
  };
  const rule = { id: 1, action: { type: 'block' }, condition: { urlFilter: 'blocked' } };
  return await zipOf([
    { name: 'manifest.json', content: JSON.stringify(content) },
    { name: 'scripts/mark.js', content: `document.documentElement.dataset.${tag} = 'here';` },
    { name: 'rules.json', content: JSON.stringify([rule]) },
    ...more,
  ]);
}

/** A CRX3 file with an archive, as the Chrome Web Store serves it. */
export function crxOf(zip: Buffer): Buffer {
  const header = Buffer.from('signatures');
  const start = Buffer.alloc(12);
  start.write('Cr24');
  start.writeUInt32LE(3, 4);
  start.writeUInt32LE(header.length, 8);
  return Buffer.concat([start, header, zip]);
}
