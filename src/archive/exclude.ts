/**
 * Files of a running or crashed Chromium:
 *
 * - the lock with the process that uses the directory (`Singleton*`, on Windows `lockfile`), its version and its port:
 *   with them, Chromium would consider a copy in use
 * - crash reports: they are large and contain the memory of pages
 *
 * Sockets, FIFOs and devices are excluded too. LevelDB's `LOCK` files stay: they are empty, and sites may have files of
 * the same name.
 */
const runAndCrashFiles =
  /^(Singleton(Lock|Socket|Cookie)|lockfile|RunningChromeVersion|DevToolsActivePort|Crashpad|Crash Reports|CrashpadMetrics[^/]*\.pma)(\/|$)|\.dmp$/;

/**
 * Files that Chromium creates again:
 *
 * - in the user-data directory: compiled shaders, downloaded components, metrics of the running process
 * - in a profile (`Default`, `Profile 1`) and in its partitions of extensions: the HTTP cache, compiled scripts and
 *   shaders, compression dictionaries
 *
 * `Service Worker/CacheStorage` stays: sites stored it. `Service Worker/ScriptCache` stays: it has the only copy of
 * installed service workers, and without it Chromium unregisters them.
 */
const caches = new RegExp(
  [
    '^(GrShaderCache|ShaderCache|GraphiteDawnCache|GPUPersistentCache|component_crx_cache|extensions_crx_cache|BrowserMetrics(-spare\\.pma)?)(/|$)',
    '^[^/]+/(Storage/ext/[^/]+/[^/]+/)?(Cache|Code Cache|GPUCache|DawnCache|DawnGraphiteCache|DawnWebGPUCache|Media Cache|Shared Dictionary)(/|$)',
  ].join('|'),
);

/**
 * Whether archives of profiles leave out this file or directory. `name` is its path in the user-data directory.
 * `withoutCaches`: also leave out caches.
 */
export function isExcluded(name: string, withoutCaches = false): boolean {
  return runAndCrashFiles.test(name) || (withoutCaches && caches.test(name));
}
