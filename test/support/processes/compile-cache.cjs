'use strict';

// The Node programs of the tests load this before Playwright. Compiling its bundles takes a third of the processor time of
// a short run. Node has a cache of its own only since version 22. The packages for older versions cache each file, but in code
// from a cache, `import()` fails: https://github.com/nodejs/node/issues/43663.

const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, sep } = require('node:path');
const vm = require('node:vm');

const modules = join(__dirname, '../../../node_modules');
const directory = join(modules, '.cache/playwright-bundles');
/** Only this repository's own Playwright: a test that installs another one in its directory would leave 5 MB each time. */
const packages = ['playwright', 'playwright-core'].map((name) => join(modules, name, 'lib', sep));
/** In characters. The code of smaller files is compiled as fast as it is read. */
const smallest = 20_000;
/** The one dynamic import of Playwright's that tests need: of configs and test files. */
const importing = 'eval(`import(';
const savedAfterMs = 2000;
const scripts = new Map();

if (Module.enableCompileCache) Module.enableCompileCache(directory);
else {
  const compile = Module.prototype._compile;
  Module.prototype._compile = function (content, file) {
    const isBundle = packages.some((start) => file.startsWith(start)) && content.length >= smallest;
    if (!isBundle || content.includes(importing)) return compile.call(this, content, file);
    const run = scriptOf(content, file).runInThisContext();
    return run.call(this.exports, this.exports, Module.createRequire(file), this, file, dirname(file));
  };
  process.on('exit', save);
  // A host is killed, and can't write here any more when a session has got it. A spare host has time to save its code.
  setTimeout(save, savedAfterMs).unref();
}

function save() {
  for (const [cached, script] of scripts) {
    const written = `${cached}.${process.pid}`;
    try {
      mkdirSync(directory, { recursive: true });
      writeFileSync(written, script.createCachedData());
      renameSync(written, cached);
    } catch {
      // A session's user can't write here.
    }
  }
}

function scriptOf(content, file) {
  const { size, mtimeMs } = statSync(file);
  // A runner and its workers use other functions of the same bundles. Code from the cache names the file that it was
  // compiled from in its errors, so the path counts, too.
  const key = [process.version, process.arch, process.argv[1], file, size, mtimeMs].join('\n');
  const cached = join(directory, createHash('sha256').update(key).digest('hex'));
  const cachedData = readIfAny(cached);
  const script = new vm.Script(Module.wrap(content), { filename: file, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) scripts.set(cached, script);
  return script;
}

function readIfAny(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
