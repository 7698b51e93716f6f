import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { editedConfig } from '../../../src/cli/suite-edits.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { compilerOptions } from '../../support/runs/compiler-options.ts';
import { expect, test } from '../../support/worker.ts';

const reporter = `['playwright-pool/reporter']`;
const replay = `poolReplay: 'retain-on-failure'`;

test('init adds the reporter and the replays option to configs in many forms', () => {
  const forms: [before: string, after: string][] = [
    [
      `export default {\n\treporter: 'html',\n\tuse: {\n\t\ttrace: 'on',\n\t},\n};\n`,
      `export default {\n\treporter: [${reporter}, ['html']],\n\tuse: {\n\t\t${replay},\n\t\ttrace: 'on',\n\t},\n};\n`,
    ],
    [
      `module.exports = { reporter: "./mine.js", use: { trace: 'on' } };`,
      `module.exports = { reporter: [${reporter}, ["./mine.js"]], use: { ${replay}, trace: 'on' } };`,
    ],
    // The `use` of one project must not get the option, because it is for all projects.
    [
      `export default {\r\n  projects: [\r\n    { name: 'a', use: { reporter: 1 } },\r\n    { use: {} },\r\n  ],\r\n};\r\n`,
      `export default {\r\n  use: { ${replay} },\r\n  reporter: [${reporter}, ['list']],\r\n  projects: [\r\n    { name: 'a', use: { reporter: 1 } },\r\n    { use: {} },\r\n  ],\r\n};\r\n`,
    ],
    // Comments, strings and regular expressions are not code.
    [
      `export default {\n  // reporter: 'html', poolReplay: 'on', {\n  grep: /[/{]use: \\{/, name: 'it\\'s {',\n  'use': { /* } */ url: \`\${'{'}\` },\n  "reporter": [\n    ['list'],\n  ],\n};`,
      `export default {\n  // reporter: 'html', poolReplay: 'on', {\n  grep: /[/{]use: \\{/, name: 'it\\'s {',\n  'use': { ${replay}, /* } */ url: \`\${'{'}\` },\n  "reporter": [\n    ${reporter},\n    ['list'],\n  ],\n};`,
    ],
    [
      `module.exports = { reporter: [['list'], ['html']] };\n`,
      `module.exports = { use: { ${replay} }, reporter: [${reporter}, ['list'], ['html']] };\n`,
    ],
    [
      `const config = { reporter: [...base], use: { ...devices['a b'] } };\nmodule.exports = config;\n`,
      `const config = { reporter: [${reporter}, ...base], use: { ${replay}, ...devices['a b'] } };\nmodule.exports = config;\n`,
    ],
    [
      `const { defineConfig } = require('@playwright/test');\nmodule.exports = defineConfig({ reporter: 'dot', use: {} });\n`,
      `const { defineConfig } = require('@playwright/test');\nmodule.exports = defineConfig({ reporter: [${reporter}, ['dot']], use: {${replay}, } });\n`,
    ],
  ];
  for (const [before, after] of forms) {
    expect(editedConfig(before, 'playwright.config.js')).toBe(after);
    expect(editedConfig(after, 'playwright.config.js')).toBe(after);
  }
});

test("init leaves configs unchanged that it can't parse", () => {
  for (const text of [
    `export default { reporter: process.env.CI ? 'github' : 'list', use: process.env.CI ? {} : { trace: 'on' } };`,
    `export default { use: { poolReplay: 'on' }, reporter: process.env.CI ? 'blob' : 'list' };`,
    `export default { ...base };`,
    `export default { reporter, use };`,
    `export default defineConfig(base, { reporter: 'html', use: {} });`,
    `export default defineConfig({ reporter: 'html' }, { use: {} });`,
    `const base = defineConfig({ reporter: 'html', use: {} });\nexport default defineConfig(base, { reporter: 'dot' });`,
    `const base = { reporter: 'html', use: {} };\nexport default defineConfig(base, own);`,
    // TypeScript widens literals that are written away from their type.
    `const config = { reporter: 'html', use: {} };\nexport default defineConfig(config);`,
    `export default makeConfig({ reporter: 'html', use: {} });`,
    `export default { reporter: 'html', use: {} `,
  ]) {
    expect(editedConfig(text, 'playwright.config.js')).toBe(text);
  }
});

test("init's edits of a TypeScript config compile, and omit replays if the config's type forbids the option", async () => {
  const recorded = [
    `import { defineConfig } from '@playwright/test';\nexport default defineConfig({ use: { trace: 'on' } });\n`,
    `import {\n  defineConfig,\n  devices,\n} from '@playwright/test' // both\nexport default defineConfig({ use: { ...devices['a']! } })\n`,
    `import { defineConfig } from "@playwright/test";\r\n\r\nexport default defineConfig({\r\n  reporter: 'list',\r\n});\r\n`,
    `import type { PlaywrightTestConfig } from '@playwright/test';\nconst config: PlaywrightTestConfig = { use: {} };\nexport default config;\n`,
    `import type { PlaywrightTestConfig } from '@playwright/test';\nexport default { use: {} } satisfies PlaywrightTestConfig;\n`,
    `import { defineConfig } from '@playwright/test';\nexport default defineConfig<{ mine: string }>({ use: { mine: '' } });\n`,
    `import { defineConfig } from '@playwright/test'; export default defineConfig({ use: {} });\n`,
    `import * as playwright from '@playwright/test';\nexport default playwright.defineConfig({ projects: [{ use: {} }] });\n`,
    `const config = { testDir: 'tests' };\nexport default config;\n`,
  ];
  const unrecorded = [
    `import {\n  defineConfig,\n  devices,\n} from '@playwright/test' // both\nexport default defineConfig({ use: devices['a']! })\n`,
    `import type { PlaywrightTestConfig as Config } from '@playwright/test';\nconst config: Config = {};\nexport default config;\n`,
    `import type { PlaywrightTestConfig as Config } from '@playwright/test';\nexport default {} satisfies Config;\n`,
  ];
  const directory = outputPath('configs');
  await mkdir(directory, { recursive: true });
  const forms = [...recorded, ...unrecorded];
  for (const [index, before] of forms.entries()) {
    const after = editedConfig(before, 'playwright.config.ts');
    expect.soft(after).toContain(reporter);
    expect.soft(after.includes(replay), after).toBe(recorded.includes(before));
    expect.soft(after.replaceAll('\r\n', '').includes('\n'), after).toBe(!before.includes('\r\n'));
    await writeFile(path.join(directory, `${index}.ts`), after);
  }
  const files = [...forms.keys()].map((index) => path.join(directory, `${index}.ts`));
  const line = [path.resolve('node_modules/typescript/bin/tsc'), '--ignoreConfig', ...compilerOptions, ...files];
  const compiled = promisify(execFile)(process.execPath, line);
  expect((await compiled.catch((error: { stdout: string }) => error)).stdout).toBe('');
});
