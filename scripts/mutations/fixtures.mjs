export default {
  'fixtures/replay/replay-mode.ts': {
    tests: ['lease/decisions.spec'],
    changes: [
      ["mode !== 'off';", "mode === 'on';"],
      ['records: (retry) => retry === 1', 'records: (retry) => retry >= 1'],
      ['records: (retry) => retry > 0', 'records: (retry) => retry > 1'],
      ['records: (retry) => retry === 0, keeps', 'records: always, keeps'],
      ['hasFailed || retry > 0', 'hasFailed'],
      [
        "'retain-on-failure': { records: always, keeps: (hasFailed) => hasFailed }",
        "'retain-on-failure': { records: always, keeps: always }",
      ],
      ["'retain-on-failure': { records: always", "'retain-on-failure': { records: never"],
      ['status !== expectedStatus, retry', "status !== 'passed', retry"],
    ],
  },
  'fixtures/transport/why-cdp.ts': {
    tests: ['lease/decisions.spec'],
    changes: [
      ['/^--ui(-|=|$)/', '/^--ui$/'],
      ['environment.inspector || argv', 'argv'],
      ['recordVideo: recordVideo !== undefined', 'recordVideo: false'],
      ["'the option video': recordsVideo", "'the option video': false"],
    ],
  },
  'fixtures/transport/choose-transport.ts': {
    tests: ['transport/transport.spec'],
    title: 'if the Playwright versions differ',
    changes: [
      ['const farFrom = 8;', 'const farFrom = 80;'],
      ["if (isEmbedded) return { transport: 'cdp', reason: near };", ''],
      ['if (waitedMs < farFrom)', 'if (waitedMs < 0)'],
      ['reason: needsCdp, warning: slow(needsCdp) }', 'reason: needsCdp }'],
      ["if (transport === 'playwright') throw error", "if (transport === 'cdp') throw error"],
    ],
  },
  'fixtures/transport/overlapped-traces.ts': {
    tests: ['transport/far-ends.spec'],
    title: 'HAR files',
    isBuilt: true,
    changes: [['if (hasHar) await disposing;\n      else if', 'if']],
  },
  'fixtures/lease/browser/remote-browser.ts': {
    tests: ['front-door/matrix.spec'],
    title: 'work over cdp',
    isBuilt: true,
    changes: [
      ['(fresh && this.#used)', 'false'],
      ['const readyAttempts = 3;', 'const readyAttempts = 1;'],
      ["if (property === 'isConnected') return () => false;", "if (property === 'isConnected') return () => true;"],
    ],
  },
  'fixtures/lease/patience.ts': {
    tests: ['lease/patience.spec'],
    changes: [
      ['const outageTime = 5000;', 'const outageTime = 15_000;'],
      ['const firstPause = 250;', 'const firstPause = 25;'],
      ['asked ?? Math.min(', 'Math.min('],
      ['performance.now() + pause > end', 'performance.now() > end'],
      ["askAgain === 'never' ||", ''],
    ],
  },
  'fixtures/lease/test-tags.ts': {
    tests: ['lease/test-tags.spec'],
    title: 'repeats an update',
    changes: [
      ['this.#known = undefined;', ''],
      ["!replace && askAgain === 'never'", 'true'],
      ['if (this.#timer) this.#begin();\n    await', 'await'],
    ],
  },
  'src/tunnel/pattern.ts': {
    tests: ['transport/tunnel.spec'],
    changes: [
      ["return hostname === 'localhost' || hostname.endsWith('.localhost') ||", "return hostname === 'localhost' ||"],
      [
        "asked ?? (isOnThisMachine(baseURL) ? '' : everywhere)",
        "asked || (isOnThisMachine(baseURL) ? '' : everywhere)",
      ],
    ],
  },
  'src/client/text-tables.ts': {
    tests: ['report/job-summary.spec'],
    changes: [['/^https?:$/', '/:$/']],
  },
  'fixtures/files/awaited-file.ts': {
    tests: ['files/file-system.spec'],
    changes: [
      ['!partial.test(name) &&', ''],
      ['&& file.modTime === before.modTime', ''],
      ['path.search(pattern) >= 0', 'pattern.test(path)'],
      ["recursive: glob.includes('/')", 'recursive: true'],
      ['&& !files.some((other) => other.path === `${path}.crdownload`)', ''],
    ],
  },
  'fixtures/files/kept-files.ts': {
    tests: ['files/file-system.spec'],
    changes: [
      ['|| size > capacity) return;', ') return;'],
      ['0) <= capacity) break;', '0) <= 2 * capacity) break;'],
    ],
  },
  'fixtures/files/remote-tree.ts': {
    tests: ['files/file-system.spec'],
    changes: [
      ['child.name !== basename(child.name) ||', ''],
      ["child.mode.startsWith('l') && (await", 'false && (await'],
    ],
  },
  'fixtures/profile/storage-state.ts': {
    tests: ['profile/storage-state.spec'],
    changes: [
      ['cookies.length + origins.length === 0', 'cookies.length === 0'],
      ['[name, domain, path])', '[name, domain])'],
      ['[...first, ...second]', '[...second, ...first]'],
    ],
  },
  'fixtures/report/job-summary.ts': {
    tests: ['report/job-summary.spec'],
    changes: [
      ['const longWait = 5000;', 'const longWait = 4000;'],
      ['const maxLongWaits = 10;', 'const maxLongWaits = 12;'],
      ['>= longWait && !hasFailed(pooled)', '>= longWait'],
    ],
  },
  'fixtures/check-options.ts': {
    tests: ['lease/options.spec'],
    title: 'refuses the options|acquireTimeout of 0',
    changes: [
      ['acquireTimeout >= 0', 'acquireTimeout > 0'],
      ["typeof value === 'number' && value > 0", "typeof value === 'number' && value >= 0"],
      ["save === 'always' || isFlag(save)", 'isFlag(save)'],
      ['/^--\\w/.test(text)', '/\\w/.test(text)'],
      ["release: ['recycle', 'reuse', 'flush']", "release: ['recycle', 'reuse', 'flush', 'resue']"],
    ],
  },
  'fixtures/options.ts': {
    tests: ['lease/options.spec'],
    title: 'the settings of a worker|accepts on and off',
    changes: [
      ["options.release ?? 'recycle'", "options.release ?? 'reuse'"],
      ['options.acquireTimeout === 0 ? Infinity', 'options.acquireTimeout === 0 ? 0'],
      ['options.acquireTimeout ?? 300_000', 'options.acquireTimeout ?? 30_000'],
      ["environment.ci ? 'id' : 'full'", "'full'"],
      ['options.transport ?? environment.transport', 'environment.transport'],
      ["options.onUnavailable ?? 'fail'", "options.onUnavailable ?? 'local'"],
      ['size === undefined && browsers === undefined ? name', 'size === undefined ? name'],
      ["variable('PLAYWRIGHT_POOL_REAPER') ?? 'on'", "variable('PLAYWRIGHT_POOL_REAPER') ?? 'no'"],
    ],
  },
  'fixtures/camel-case.ts': {
    tests: ['front-door/names.spec'],
    changes: [['ownNames.has(snakeName(name)) && !Array.isArray(item)', 'ownNames.has(snakeName(name))']],
  },
  'fixtures/playwright-version.ts': {
    tests: ['lease/decisions.spec', 'transport/transport.spec'],
    title: 'unsupported version|if the Playwright versions differ',
    changes: [
      ['other.startsWith(minor)', 'other === version'],
      ['Number(minor) >= Number(leastMinor)', 'Number(minor) > Number(leastMinor)'],
      ['isNew && Number(major) < Number(limit)', 'isNew'],
    ],
  },
};
