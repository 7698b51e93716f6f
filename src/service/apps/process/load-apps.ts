import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { createJiti } from 'jiti';

/** An app of a module, with its actions by name. */
export type LoadedApp = { name: string; actions: Map<string, Action> };
type Action = (payload: unknown, context: unknown) => unknown;

/** A module's exports. */
type Exports = Record<string, unknown>;
type Loader = ReturnType<typeof createJiti>;

/**
 * Loads a module and returns its apps: its default export `{ name, actions }`, or the apps that it made with
 * `@onkernel/sdk`, the hosted service's SDK. `loaderFile` is the file of jiti, which loads TypeScript and finds modules
 * without extension.
 */
export async function loadApps(entrypoint: string, loaderFile: string | undefined): Promise<LoadedApp[]> {
  let loading: Promise<Loader> | undefined;
  const loader = () => (loading ??= startLoader(entrypoint, loaderFile));
  const { default: exported } = await load(entrypoint, loader);
  const isApp = isObject(exported) && 'actions' in exported;
  if (isApp && !(exported['actions'] instanceof Map)) return [ownApp(exported)];
  const made = new Set(await registeredApps(entrypoint, await loader()));
  // If the SDK is bundled with the module, the list of apps that it keeps can't be found.
  if (isApp) made.add(exported);
  if (made.size > 0) return Array.from(made, sdkApp);
  throw new TypeError(
    'the entrypoint defines no app: it needs a default export { name, actions }, or must call app(name) of @onkernel/sdk',
  );
}

async function startLoader(entrypoint: string, loaderFile: string | undefined): Promise<Loader> {
  if (loaderFile === undefined)
    throw new Error('TypeScript and apps of @onkernel/sdk need jiti: run "npm install jiti" beside playwright-pool');
  const jiti = (await import(pathToFileURL(loaderFile).href)) as { createJiti: typeof createJiti };
  const tsconfigPaths = existsSync('tsconfig.json') && 'tsconfig.json';
  return jiti.createJiti(entrypoint, { fsCache: 'node_modules/.cache/jiti', tsconfigPaths });
}

async function load(entrypoint: string, loader: () => Promise<Loader>): Promise<Exports> {
  try {
    if (!/\.[cm]?tsx?$/.test(entrypoint)) return (await import(pathToFileURL(entrypoint).href)) as Exports;
  } catch (error) {
    if (!isUnresolved(error)) throw error;
  }
  return await (await loader()).import<Exports>(entrypoint);
}

/** Whether Node refuses a file that the loader may find: one without an extension, a directory, or TypeScript. */
function isUnresolved(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ERR_MODULE_NOT_FOUND') return !message.startsWith('Cannot find package');
  return code === 'ERR_UNSUPPORTED_DIR_IMPORT' || code === 'ERR_UNKNOWN_FILE_EXTENSION';
}

function ownApp({ name, actions }: Exports): LoadedApp {
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`the name in the default export must be a non-empty string, not ${shown(name)}`);
  if (!isObject(actions) || Object.keys(actions).length === 0)
    throw new TypeError(
      `the actions in the default export must be an object with at least one function, not ${shown(actions)}`,
    );
  for (const [key, action] of Object.entries(actions)) {
    if (typeof action !== 'function') throw new TypeError(`the action ${key} must be a function, not ${shown(action)}`);
  }
  return { name, actions: new Map(Object.entries(actions) as [string, Action][]) };
}

/** Returns the apps that the SDK keeps in its list. The module may have loaded the SDK with `import` or `require`. */
async function registeredApps(entrypoint: string, loader: Loader): Promise<unknown[]> {
  const modules = Object.values(createRequire(entrypoint).cache);
  const required = modules.filter((module) => /[\\/]@onkernel[\\/]sdk[\\/]index\.c?js$/.test(module?.filename ?? ''));
  const imported = await importedSdk(loader);
  return [...required.map((module) => module?.exports as unknown), imported].flatMap((sdk) => {
    const registry = (sdk as { appRegistry?: { getApps?: () => unknown[] } } | undefined)?.appRegistry;
    return registry?.getApps?.() ?? [];
  });
}

async function importedSdk(loader: Loader): Promise<unknown> {
  let url;
  try {
    url = loader.esmResolve('@onkernel/sdk');
  } catch {
    return undefined;
  }
  return await import(url);
}

/** An app of the hosted service's SDK. Its handlers take the context as first argument. */
function sdkApp(app: unknown): LoadedApp {
  const { name, actions } = app as { name: unknown; actions: Map<string, { handler: Action }> };
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`the name of an app must be a non-empty string, not ${shown(name)}`);
  const handlers = Array.from(actions, ([action, { handler }]): [string, Action] => [
    action,
    (payload, context) => handler(context, payload),
  ]);
  return { name, actions: new Map(handlers) };
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, maxStringLength: 100 });
}

function isObject(value: unknown): value is Exports {
  return typeof value === 'object' && value !== null;
}
