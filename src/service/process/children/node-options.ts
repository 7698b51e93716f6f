import { isAbsolute } from 'node:path';

/**
 * Returns the `NODE_OPTIONS` of a child process: those of its parent without the switches of the inspector, because the
 * service outlives the tests. Preloaded modules stay only if their paths are absolute, such as Yarn's `.pnp.cjs`: Node
 * would search others from the directory of the child process.
 */
export function childNodeOptions(environment: Readonly<Record<string, string | undefined>>): string {
  // A switch and its values. Values with spaces are in double quotes.
  const options = environment['NODE_OPTIONS']?.match(/-(?:"(?:\\.|[^"\\])*"|\S|\s+(?![\s-]))+/g) ?? [];
  return options
    .map((option) => option.trim())
    .filter((option) => !inspection.test(option) && isFound(option))
    .join(' ');
}

const inspection = /^--(inspect|debug-port|experimental-network-inspection)/;
const preload = /^(?:-r|--require|--import|--loader|--experimental-loader)[\s=]+"?([^"]*)/;

function isFound(option: string): boolean {
  const [, module] = preload.exec(option) ?? [];
  return module === undefined || isAbsolute(module) || module.startsWith('file:');
}
