import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** For a file in each room: what it may import, and what it may not. A `type:` before a name makes it an import of types. */
const rules: Record<string, { may: string[]; mayNot: string[] }> = {
  'src/contract/a.ts': {
    may: ['zod', './b.ts'],
    mayNot: ['node:fs', 'undici', '../client/index.ts', '../service/service.ts', '../archive/index.ts', 'type:../../fixtures/index.ts'],
  },
  'src/archive/a.ts': {
    may: ['node:fs/promises', 'tar-stream', '@mongodb-js/zstd', 'fzstd', './b.ts'],
    mayNot: ['../contract/contract.ts', '../client/index.ts', '../service/service.ts', 'zod', 'undici', 'tinyglobby'],
  },
  'src/client/a.ts': {
    may: ['../contract/contract.ts', 'undici', 'p-retry', 'eventsource-parser', 'node:stream/promises', './b.ts'],
    mayNot: [
      '../service/clock.ts',
      '../archive/index.ts',
      '../../fixtures/index.ts',
      '../reaper/ledger.ts',
      '@playwright/test',
      'hono',
      'zod',
    ],
  },
  'src/service/a.ts': {
    may: ['../contract/contract.ts', '../archive/index.ts', './http/b.ts', './handlers/b.ts', 'libsql', 'ws', 'hono', 'node:os'],
    mayNot: [
      '../client/index.ts',
      '../cli/main.ts',
      '../reaper/ledger.ts',
      '../../fixtures/index.ts',
      '@playwright/test',
      'undici',
      'commander',
    ],
  },
  'src/service/handlers/a.ts': {
    may: ['../http/b.ts', '../browsers/b.ts', '../store/b.ts', '../../contract/contract.ts', './b.ts'],
    mayNot: ['../../client/index.ts', '../../cli/main.ts', '../../../fixtures/index.ts'],
  },
  'src/service/http/a.ts': {
    may: [
      '../../contract/errors.ts',
      '../../contract/operation.ts',
      '../clock.ts',
      '../system-error.ts',
      'hono',
      '@hono/node-server',
      'ws',
      'node:http',
      './b.ts',
    ],
    mayNot: [
      '../handlers/b.ts',
      '../browsers/b.ts',
      '../store/b.ts',
      '../service.ts',
      '../../archive/index.ts',
      '../../client/index.ts',
      'libsql',
    ],
  },
  'src/service/browsers/a.ts': {
    may: [
      '../../contract/errors.ts',
      'type:../../contract/files.ts',
      '../built-file.ts',
      '../clock.ts',
      '../remove-tree.ts',
      '../../archive/index.ts',
      'ws',
      'node:fs',
      './b.ts',
    ],
    mayNot: [
      '../../contract/files.ts',
      '../handlers/b.ts',
      '../http/b.ts',
      '../store/b.ts',
      '../service.ts',
      '../../client/index.ts',
      'hono',
    ],
  },
  'src/service/store/a.ts': {
    may: ['../../contract/errors.ts', 'type:../../contract/profiles.ts', '../clock.ts', 'libsql', 'node:fs', './b.ts'],
    mayNot: ['../../contract/profiles.ts', '../handlers/b.ts', '../http/b.ts', '../browsers/b.ts', '../../archive/index.ts', 'hono'],
  },
  'src/reaper/a.ts': {
    may: ['../client/index.ts', 'node:net', './b.ts'],
    mayNot: ['../client/request.ts', '../service/service.ts', '../contract/contract.ts', '../../fixtures/index.ts', 'undici'],
  },
  'src/cli/a.ts': {
    may: [
      '../contract/contract.ts',
      '../client/index.ts',
      '../service/service.ts',
      '../archive/index.ts',
      'commander',
      'yazl',
      'node:path',
      './b.ts',
    ],
    mayNot: ['../../fixtures/index.ts', '../reaper/ledger.ts', '../service/browsers/b.ts', '../client/request.ts', '@playwright/test'],
  },
  'fixtures/a.ts': {
    may: [
      '../src/client/index.ts',
      '../src/archive/index.ts',
      'type:../src/contract/files.ts',
      '../src/reaper/ledger.ts',
      '@playwright/test',
      'picomatch',
      'tinyglobby',
      'ws',
      './b.ts',
    ],
    mayNot: [
      '../src/contract/files.ts',
      '../src/service/service.ts',
      'type:../src/service/service.ts',
      '../src/cli/main.ts',
      '../src/client/request.ts',
      'undici',
    ],
  },
  'fixtures/service.ts': {
    may: ['../src/service/service.ts', 'node:path'],
    mayNot: ['../src/service/browsers/b.ts', '../src/cli/main.ts', '../src/client/index.ts'],
  },
  'fixtures/reporter.ts': {
    may: ['./attachments.ts', '../src/reaper/ledger.ts', '../src/player/player.ts', 'type:@playwright/test/reporter', 'node:fs'],
    mayNot: [
      './lease.ts',
      '../src/reaper/holder.ts',
      '../src/client/index.ts',
      '../src/service/service.ts',
      '@playwright/test',
      'picomatch',
    ],
  },
  'src/player/a.ts': {
    may: ['node:fs', './b.ts'],
    mayNot: ['../contract/contract.ts', '../service/service.ts', '../../fixtures/index.ts', 'zod', 'hono'],
  },
  'src/service/apps/a.ts': {
    may: [
      '../../contract/errors.ts',
      '../../contract/since.ts',
      'type:../../contract/deployments.ts',
      '../built-file.ts',
      '../clock.ts',
      '../followers.ts',
      '../passed-on.ts',
      '../process-group.ts',
      '../remove-tree.ts',
      '../system-error.ts',
      'zod',
      'node:fs',
      './b.ts',
    ],
    mayNot: ['../../contract/deployments.ts', '../store/deployments.ts', '../browsers/session.ts', '../handlers/apps.ts', 'hono', 'yauzl'],
  },
  'src/service/auth/a.ts': {
    may: [
      '../../contract/errors.ts',
      'type:../../contract/auth-connections.ts',
      '../browsers/session.ts',
      '../clock.ts',
      '../followers.ts',
      'zod',
      'node:fs',
      './b.ts',
    ],
    mayNot: ['../../contract/auth-connections.ts', '../store/auth-connections.ts', '../handlers/page.ts', '../http/handler.ts', 'hono'],
  },
  'src/service/pages/a.ts': {
    may: ['../http/answer.ts', '../../player/player.ts', '../../contract/errors.ts', '../clock.ts', 'hono/html', 'ws', 'zod', './b.ts'],
    mayNot: ['../browsers/session.ts', '../store/replays.ts', '../handlers/replays.ts', '../service.ts', 'libsql'],
  },
  'examples/todo/tests/a.spec.ts': {
    may: ['playwright-pool', 'playwright-pool/client', '@playwright/test', 'node:fs/promises', './b.ts', '../b.ts'],
    mayNot: ['../../../fixtures/index.ts', '../../../dist/fixtures/index.js', '../../../src/client/index.ts', 'undici'],
  },
};

test('each room may import what the table of rooms says and nothing else', async () => {
  const files: Record<string, string> = {};
  const forbidden: string[] = [];
  for (const [file, { may, mayNot }] of Object.entries(rules)) {
    files[file] = [...may, ...mayNot].map(importing).join('\n');
    forbidden.push(...mayNot.map((_, index) => `${file}:${may.length + index + 1}`));
  }
  expect(await refused('no-restricted-imports', files)).toEqual(forbidden.toSorted());
});

test('no file imports itself by way of others, not even for types', async () => {
  const files = {
    'src/client/a.ts': `import type { B } from './b.ts';\nexport type A = B;`,
    'src/client/b.ts': `import type { C } from './c.ts';\nexport type B = C;`,
    'src/client/c.ts': `import type { A } from './a.ts';\nexport type C = A;`,
    'src/client/d.ts': `import type { A } from './a.ts';\nexport type D = A;`,
  };
  expect(await refused('no-cycle', files)).toEqual(['src/client/a.ts:1', 'src/client/b.ts:1', 'src/client/c.ts:1']);
});

function importing(specifier: string, index: number): string {
  const [, type, from] = /^(type:)?(.*)$/.exec(specifier) ?? [];
  return type ? `import type { a${index} } from '${from}';` : `import { a${index} } from '${from}';`;
}

/** The imports of these files that a rule of the linter refuses, as `file:line`, sorted. */
async function refused(rule: string, files: Record<string, string>): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'import-rules-'));
  for (const [file, text] of Object.entries(files)) {
    const path = join(directory, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await cp(join(root, '.oxlintrc.json'), join(directory, '.oxlintrc.json'));
  const linter = join(root, 'node_modules/oxlint/bin/oxlint');
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [linter, '--format=unix'], { cwd: directory }, (_error, stdout) => resolve(stdout));
  });
  await rm(directory, { recursive: true });
  const places = Array.from(output.matchAll(/^(.+?):(\d+):\d+: (.*)/gm));
  return places.flatMap(([, file, line, message]) => (message!.includes(rule) ? [`${file}:${line}`] : [])).toSorted();
}
