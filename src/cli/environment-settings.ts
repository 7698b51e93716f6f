import type { Command, Option } from 'commander';

const prefix = 'PLAYWRIGHT_POOL_';

/** The environment without this package's empty variables, which count as unset: CI sets a variable without a value to ''. */
export function setVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !name.startsWith(prefix) || value?.trim() !== ''),
  );
}

/**
 * Makes each option of a command available as an environment variable, too: `--max-sessions` as
 * PLAYWRIGHT_POOL_MAX_SESSIONS. The command line wins.
 */
export function withEnvironment(command: Command, env: NodeJS.ProcessEnv): Command {
  return command.hook('preAction', () => {
    for (const option of command.options) {
      const name = prefix + option.name().replaceAll('-', '_').toUpperCase();
      const text = env[name]?.trim();
      const source = command.getOptionValueSource(option.attributeName());
      // If a Kubernetes service is named playwright-pool, Kubernetes sets PLAYWRIGHT_POOL_PORT to its address in each pod.
      const isOfKubernetes = name === `${prefix}PORT` && text?.startsWith('tcp://');
      if (!text || isOfKubernetes || (source !== undefined && source !== 'default')) continue;
      try {
        const value = valueOf(option, text);
        if (value !== undefined) command.setOptionValueWithSource(option.attributeName(), value, 'env');
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        command.error(`error: ${name} has the value '${text}', which is invalid. ${reason}`);
      }
    }
  });
}

/** The value of an option from a text. `undefined` for a flag that is off. */
function valueOf(option: Option, text: string): unknown {
  if (option.isBoolean()) {
    if (/^(0|false|no|off)$/i.test(text)) return undefined;
    if (/^(1|true|yes|on)$/i.test(text)) return !option.negate;
    throw new Error('It must be 1 or 0.');
  }
  const parse = option.parseArg as ((text: string, previous: unknown) => unknown) | undefined;
  return parse ? parse(text, undefined) : text;
}
