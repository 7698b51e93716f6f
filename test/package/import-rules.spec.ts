import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '../support/worker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The words of a text. */
const words = (text: string) => text.split(/\s+/);

/** For a file in each room: allowed and forbidden imports. The prefix `type:` marks an import of types. */
const rules: Record<string, { may: string[]; mayNot: string[] }> = {
  'src/contract/a.ts': {
    may: ['zod', './b.ts'],
    mayNot: words(`node:fs undici ../client/index.ts ../service/service.ts ../archive/index.ts
      type:../../fixtures/index.ts`),
  },
  'src/archive/a.ts': {
    may: ['node:fs/promises', 'tar-stream', '@mongodb-js/zstd', 'fzstd', 'xxhash-wasm', './b.ts'],
    mayNot: ['../contract/contract.ts', '../client/index.ts', '../service/service.ts', 'zod', 'undici', 'tinyglobby'],
  },
  'src/tunnel/a.ts': {
    may: ['node:http2', 'ws', './b.ts'],
    mayNot: words('../contract/contract.ts ../service/tunnel/b.ts ../client/index.ts ../../fixtures/index.ts undici'),
  },
  'src/tracing/a.ts': {
    may: ['@opentelemetry/api', 'node:os', './b.ts'],
    mayNot: ['../contract/contract.ts', '../service/http/b.ts', '../client/index.ts', '../../fixtures/index.ts', 'ws'],
  },
  'src/client/a.ts': {
    may: ['../contract/contract.ts', 'undici', 'p-retry', 'eventsource-parser', 'node:stream/promises', './b.ts'],
    mayNot: words(`../service/process/clock.ts ../archive/index.ts ../../fixtures/index.ts ../reaper/ledger.ts
      @playwright/test hono zod`),
  },
  'src/service/a.ts': {
    may: words('../contract/contract.ts ../archive/index.ts ./http/b.ts ./replays/b.ts libsql ws hono node:os'),
    mayNot: words(`../client/index.ts ../cli/main.ts ../reaper/ledger.ts ../../fixtures/index.ts @playwright/test
      undici commander`),
  },
  'src/reaper/a.ts': {
    may: ['../client/index.ts', '../service/process/children/is-running.ts', 'node:net', './b.ts'],
    mayNot: words(`../client/request.ts ../service/service.ts ../service/process/clock.ts ../contract/contract.ts
      ../../fixtures/index.ts undici`),
  },
  'src/cli/a.ts': {
    may: words(`../contract/contract.ts ../client/index.ts ../client/wrong-scheme.ts ../client/ci-run.ts ../client/run-summary.ts
      ../client/find-pool.ts ../client/text-tables.ts ../service/service.ts ../service/process/b.ts
      ../archive/index.ts ../tunnel/b.ts ../../fixtures/options.ts ../../fixtures/lease/browser/playwright-browser.ts
      commander yazl node:path ./b.ts`),
    mayNot:
      words(`../../fixtures/index.ts ../../fixtures/lease/lease.ts ../reaper/ledger.ts ../service/sessions/b.ts ../client/request.ts
      @playwright/test`),
  },
  'fixtures/a.ts': {
    may: words(`../src/client/index.ts type:../src/contract/files.ts @playwright/test ./b.ts ./lease/b.ts
      ./lease/browser/b.ts ./report/b.ts ../src/tunnel/pattern.ts`),
    mayNot: words(`../src/contract/files.ts ../src/archive/index.ts ../src/reaper/ledger.ts
      ../src/service/service.ts type:../src/service/service.ts ../src/cli/main.ts ../src/client/request.ts undici ws`),
  },
  'fixtures/reporter.ts': {
    may: words(`./report/b.ts ./shards/b.ts ../src/reaper/ledger.ts type:../src/contract/files.ts
      type:@playwright/test/reporter node:fs`),
    mayNot: words(`./options.ts ./lease/b.ts ../src/reaper/holder.ts ../src/client/index.ts @playwright/test
      picomatch`),
  },
  ...roomsOfFixtures(),
  'fixtures/lease/service/embedded-service.ts': {
    may: ['../../../src/service/process/start/b.ts', '../../options.ts', 'node:path'],
    mayNot: words(`./b.ts ../b.ts ../../../src/service/sessions/b.ts ../../../src/cli/main.ts
      ../../../src/client/index.ts`),
  },
  'src/service/logins/reading/a.ts': {
    may: ['./b.ts'],
    mayNot: ['../robot/b.ts', '../flow.ts', '../../sessions/b.ts', '../../../contract/errors.ts', 'node:fs', 'zod'],
  },
  'src/service/logins/robot/a.ts': {
    may: words(`./b.ts ../reading/b.ts ../../chromium/b.ts ../../sessions/b.ts ../../input/b.ts
      ../../../contract/errors.ts node:fs`),
    mayNot: ['../flow.ts', '../../replays/b.ts', '../../credentials/b.ts', '../../../client/index.ts', 'zod'],
  },
  'src/player/a.ts': {
    may: ['node:fs', '../views/view-file.ts', './b.ts'],
    mayNot: ['../contract/contract.ts', '../service/service.ts', '../../fixtures/index.ts', 'zod', 'hono'],
  },
  'src/views/a.ts': {
    may: ['node:fs', './b.ts'],
    mayNot: ['../contract/contract.ts', '../player/player.ts', '../service/service.ts', 'hono'],
  },
  'src/service/replays/a.browser.ts': {
    may: ['../../views/b.browser.ts', 'type:../../contract/b.ts', 'type:./b.ts', './b.browser.ts'],
    mayNot: ['../../contract/b.ts', './b.ts', '../http/b.ts', 'node:fs', 'zod', 'mediabunny'],
  },
  'src/service/dashboard/views/a.browser.tsx': {
    may: ['preact/hooks', 'uplot', 'type:../b.ts', '../b.browser.ts', './b.browser.tsx'],
    mayNot: ['../b.ts', '../../http/b.ts', 'node:fs', 'hono', 'zod'],
  },
  'examples/todo/tests/a.spec.ts': {
    may: ['playwright-pool', 'playwright-pool/client', '@playwright/test', 'node:fs/promises', './b.ts', '../b.ts'],
    mayNot: ['../../../fixtures/index.ts', '../../../dist/fixtures/index.js', '../../../src/client/index.ts', 'undici'],
  },
};

/** The rooms of the service in the order of imports: each may import the rooms before it. */
const serviceRooms =
  words(`process http database chromium sessions tunnel playwright input files processes curl telemetry replays live-view profiles
  proxies extensions pools credentials logins organization audit runs apps machines metrics dashboard connect locks`);

/** The folders of rooms. They follow the rule of their room. */
const foldersOf: Record<string, string[]> = {
  'src/service/process': ['start', 'children', 'trees', 'network'],
  'src/service/http': ['requests', 'answers'],
  'src/service/chromium': ['cdp', 'network'],
  'src/service/sessions': ['cdp', 'screen', 'local'],
  'src/service/logins': ['flow', 'hosted'],
  'fixtures/lease': ['service', 'browser'],
};

/** Only `service.ts`, its build order and the entry point in `process/start` know the whole service. */
const wholeService = ['../service.ts', '../parts.ts', '../operation-handlers.ts', '../views.ts'];

for (const [index, room] of serviceRooms.entries()) {
  const others = serviceRooms.map((other) => `../${other}/b.ts`);
  rules[`src/service/${room}/a.ts`] = {
    may: [
      ...others.slice(0, index),
      '../../contract/errors.ts',
      'node:fs',
      './b.ts',
      ...(foldersOf[`src/service/${room}`] ?? []).map((folder) => `./${folder}/b.ts`),
      ...serviceRooms.slice(0, index).flatMap((other) => inFolders(other)),
      ...(room === 'chromium' ? ['type:@playwright/test'] : []),
      ...(room === 'processes' ? ['type:@lydell/node-pty', 'type:@playwright/test', 'type:jiti'] : []),
      ...(room === 'tunnel' ? ['../../tunnel/b.ts', 'ws'] : []),
      ...(room === 'machines' ? ['../../client/index.ts'] : []),
      ...(room === 'metrics' ? ['prom-client', 'hono'] : []),
      ...(room === 'dashboard' ? ['../../views/view-file.ts', 'hono', 'zod'] : []),
      ...(room === 'connect' ? ['hono', 'zod'] : []),
    ],
    mayNot: [
      ...others.slice(index + 1),
      ...(room === 'chromium' ? ['@playwright/test'] : []),
      ...(room === 'processes' ? ['@lydell/node-pty', '@playwright/test', 'jiti'] : []),
      ...serviceRooms.slice(index + 1).flatMap((other) => inFolders(other)),
      ...wholeService,
      room === 'machines' ? '../../client/request.ts' : '../../client/index.ts',
      '../../cli/main.ts',
      '../../../fixtures/index.ts',
      'commander',
    ],
  };
}

for (const [room, folders] of Object.entries(foldersOf)) {
  const { may, mayNot } = rules[`${room}/a.ts`]!;
  for (const folder of folders) {
    const others = folders.map((other) => `../${other}/b.ts`);
    rules[`${room}/${folder}/a.ts`] = {
      may: [...may.filter((name) => !name.startsWith('./')).map(below), './b.ts', '../b.ts', ...others],
      mayNot: mayNot.map(below).filter((name) => folder !== 'start' || name !== '../../service.ts'),
    };
  }
}
rules['src/service/process/start/a.ts']!.may.push('../../service.ts');

/** The same import from a file one folder below. */
function below(specifier: string): string {
  return specifier.replace(/^(type:)?\.\.\//, '$1../../');
}

function inFolders(room: string): string[] {
  return (foldersOf[`src/service/${room}`] ?? []).map((folder) => `../${room}/${folder}/b.ts`);
}

/** The allowed imports of the rooms of the fixtures. All others are forbidden. */
function roomsOfFixtures(): typeof rules {
  const usual =
    words(`../options.ts ../errors.ts ../camel-case.ts ../../src/client/index.ts type:../../src/contract/files.ts
  @playwright/test`);
  const rooms: Record<string, string[]> = {
    report: ['../../src/player/player.ts', '../../src/reaper/ledger.ts', 'type:@playwright/test/reporter'],
    files: [...usual, 'picomatch', 'tinyglobby'],
    transport: [...usual, '../playwright-version.ts', '../files/b.ts', 'ws'],
    profile: [...usual, '../../src/archive/index.ts'],
    lease: [
      ...usual,
      '../playwright-version.ts',
      '../report/b.ts',
      '../transport/b.ts',
      '../profile/b.ts',
      '../../src/client/failure-policy.ts',
      '../../src/client/find-pool.ts',
      '../../src/reaper/holder.ts',
      '../../src/reaper/ledger.ts',
      '../../src/tunnel/b.ts',
      '../../src/tracing/b.ts',
    ],
    login: [...usual, '../lease/b.ts', '../../src/reaper/ledger.ts'],
    input: [...usual, '../lease/b.ts'],
    replay: [...usual, '../report/b.ts', '../lease/b.ts'],
    shards: [
      ...usual,
      '../report/b.ts',
      '../lease/b.ts',
      '../../src/client/ci-run.ts',
      '../../src/client/run-summary.ts',
      '../../src/reaper/ledger.ts',
      'type:@playwright/test/reporter',
      'ws',
    ],
  };
  const never = words(
    `../test.ts ../../src/service/service.ts ../../src/contract/files.ts ../../src/client/request.ts undici`,
  );
  const all = new Set([
    ...Object.keys(rooms).map((room) => `../${room}/b.ts`),
    ...Object.values(rooms).flat(),
    ...never,
  ]);
  return Object.fromEntries(
    Object.entries(rooms).map(([room, imported]) => {
      const others = [...all].filter((name) => !imported.includes(name) && name !== `../${room}/b.ts`);
      return [`fixtures/${room}/a.ts`, { may: [...imported, './b.ts', 'node:fs'], mayNot: others }];
    }),
  );
}

test('the linter allows each room exactly the imports in the table of rooms', async () => {
  const files: Record<string, string> = {};
  const forbidden: string[] = [];
  for (const [file, { may, mayNot }] of Object.entries(rules)) {
    files[file] = [...may, ...mayNot].map(importing).join('\n');
    forbidden.push(...mayNot.map((_, index) => `${file}:${may.length + index + 1}`));
  }
  expect(await refused('no-restricted-imports', files)).toEqual(forbidden.toSorted());
});

test('imports form no cycles, not even imports of types', async () => {
  const files = {
    'src/client/a.ts': `import type { B } from './b.ts';\nexport type A = B;`,
    'src/client/b.ts': `import type { C } from './c.ts';\nexport type B = C;`,
    'src/client/c.ts': `import type { A } from './a.ts';\nexport type C = A;`,
    'src/client/d.ts': `import type { A } from './a.ts';\nexport type D = A;`,
  };
  expect(await refused('no-cycle', files)).toEqual(['src/client/a.ts:1', 'src/client/b.ts:1', 'src/client/c.ts:1']);
});

test('folders named suites have only projects of whole runs, because the tests leave them out', async () => {
  const entries = await readdir(join(root, 'test'), { recursive: true });
  const suites = entries.filter((entry) => /\/suites\/.*\.ts$/.test(entry));
  expect(suites.length).toBeGreaterThan(20);
  for (const file of suites) {
    const text = await readFile(join(root, 'test', file), 'utf8');
    const imported = Array.from(text.matchAll(/ from '(\..*)'/g), ([, specifier]) => join(dirname(file), specifier!));
    expect(imported.filter((path) => !path.includes('/suites/'))).toEqual([]);
  }
});

test('fixtures of workers are made by perWorker, because Playwright starts new workers for tests with others', async () => {
  const entries = await readdir(join(root, 'test'), { recursive: true });
  const files = entries.filter((entry) => entry.endsWith('.ts') && !entry.includes('suites/'));
  const withFixtures: string[] = [];
  for (const file of files) {
    const text = await readFile(join(root, 'test', file), 'utf8');
    // The text of an inner suite is in a template.
    if (/scope: ['"]worker/.test(text.replaceAll(/`[^`]*`/g, ''))) withFixtures.push(file);
  }
  expect(files.length).toBeGreaterThan(300);
  expect(withFixtures).toEqual(['support/worker.ts']);
});

test('no folder of the service, the fixtures and the tests has more than 20 files', async () => {
  const counts = new Map<string, number>();
  for (const room of ['src/service', 'fixtures', 'test']) {
    const entries = await readdir(join(root, room), { recursive: true, withFileTypes: true });
    for (const { parentPath } of entries.filter((entry) => entry.isFile()))
      counts.set(parentPath, (counts.get(parentPath) ?? 0) + 1);
  }
  expect(counts.size).toBeGreaterThan(40);
  expect([...counts].filter(([, count]) => count > 20)).toEqual([]);
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
