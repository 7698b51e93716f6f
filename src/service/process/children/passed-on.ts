import { childNodeOptions } from './node-options.ts';

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
