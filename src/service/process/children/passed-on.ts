import { isAbsolute } from 'node:path';

/** The part of the service's environment variables that its child processes get. Contains no secrets. */
export function passedOn(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => neededVariable.test(name)));
}

/** The same for child processes that run our own code in Node. */
export function passedToNode(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return { ...passedOn(environment), NODE_OPTIONS: childNodeOptions(environment) };
}

const neededVariable =
  /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_\w+|DBUS_\w+|LD_LIBRARY_PATH|FONTCONFIG_\w+|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS|(https?|all|no|ftp)_proxy|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES\S*|USERPROFILE|HOMEDRIVE|HOMEPATH|NUMBER_OF_PROCESSORS|PROCESSOR_\w+)$/i;

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
