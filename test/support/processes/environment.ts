/** Sets variables of this process's environment until the returned object is disposed of. */
export function setEnvironment(variables: Record<string, string>): Disposable {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  const restore = () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  return { [Symbol.dispose]: restore };
}
