// The operations of the hosted service's SDK, read from its code.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Operations of the hosted service that its client doesn't have. */
const withoutClient = [
  'POST /auth/connections/{}/exchange',
  ...['GET', 'POST'].map((method) => `${method} /projects`),
  ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} /projects/{}`),
  ...['GET', 'PATCH'].map((method) => `${method} /projects/{}/limits`),
];

/** All operations of the hosted service, such as `GET /browsers/{}`, sorted by their paths. */
export function publicOperations(root) {
  const directory = join(root, 'node_modules/@onkernel/sdk/resources');
  const found = new Set(withoutClient);
  for (const file of readdirSync(directory, { recursive: true }).filter((name) => name.endsWith('.mjs'))) {
    const code = readFileSync(join(directory, file), 'utf8');
    const requests = code.matchAll(
      /_client\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:path\s*)?['`](\/[^'`]*)['`]/g,
    );
    for (const [, method, path] of requests)
      found.add(`${method === 'getAPIList' ? 'GET' : method.toUpperCase()} ${path.replaceAll(/\$\{\w+\}/g, '{}')}`);
  }
  return [...found].sort((a, b) => pathOf(a).localeCompare(pathOf(b), 'en') || a.localeCompare(b, 'en'));
}

function pathOf(request) {
  return request.split(' ')[1];
}
