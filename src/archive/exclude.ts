/**
 * What never belongs to a user-data directory at rest, by its place in it:
 *
 * - the lock that says which process on which machine uses the directory (`Singleton*`, on Windows `lockfile`), which version that
 *   is and where it listens: a Chromium started on a copy would take the directory for being in use
 * - what is left of crashes: large, and it holds the memory of pages
 *
 * Sockets, FIFOs and devices are left out too, wherever they are. LevelDB's `LOCK` files stay: they are empty, and their names alone
 * do not tell whose they are.
 */
const runAndCrashFiles =
  /^(Singleton(Lock|Socket|Cookie)|lockfile|RunningChromeVersion|DevToolsActivePort|Crashpad|Crash Reports|CrashpadMetrics[^/]*\.pma)(\/|$)|\.dmp$/;

/**
 * What Chromium makes anew when it is missing, by its place:
 *
 * - of all profiles, in the user-data directory itself: compiled shaders, downloaded components, metrics of the running process
 * - of one profile (`Default`, `Profile 1`), and of the partitions of extensions in it: the HTTP cache, compiled scripts, compiled shaders,
 *   compression dictionaries
 *
 * `Service Worker/CacheStorage` stays: it is what sites stored. So does `Service Worker/ScriptCache`, which is no cache: it holds the
 * only copy of the installed service workers, and without it Chromium unregisters them.
 */
const caches = new RegExp(
  [
    '^(GrShaderCache|ShaderCache|GraphiteDawnCache|GPUPersistentCache|component_crx_cache|extensions_crx_cache|BrowserMetrics(-spare\\.pma)?)(/|$)',
    '^[^/]+/(Storage/ext/[^/]+/[^/]+/)?(Cache|Code Cache|GPUCache|DawnCache|DawnGraphiteCache|DawnWebGPUCache|Media Cache|Shared Dictionary)(/|$)',
  ].join('|'),
);

/** Whether an archive leaves out the entry of this name, which is relative to the user-data directory and has `/` between its segments. */
export function isExcluded(name: string, withoutCaches = false): boolean {
  return runAndCrashFiles.test(name) || (withoutCaches && caches.test(name));
}
