import { run } from '../../../src/cli/program.ts';

/** The result of a command. */
export type Ended = { code: number | null; stdout: string; stderr: string };

type Place = { cwd: string; env: Record<string, string> };

/**
 * Returns a function that runs a command of the CLI to its end in this process. Commands run one after another, because
 * each has the working directory, the environment and the output of the process to itself.
 */
export function commandRunner(): (args: readonly string[], place: Place) => Promise<Ended> {
  let last: Promise<unknown> = Promise.resolve();
  return async (args, place) => {
    const command = last.then(() => runAlone(args, place));
    last = command.catch(() => {});
    return await command;
  };
}

async function runAlone(args: readonly string[], { cwd, env }: Place): Promise<Ended> {
  const before = { cwd: process.cwd(), env: process.env, exitCode: process.exitCode };
  const outputs = [capture(process.stdout), capture(process.stderr)] as const;
  process.chdir(cwd);
  process.env = { ...process.env, ...env };
  Reflect.set(process, 'exitCode', undefined);
  try {
    const code = (await run(args, process.env)) || Number(process.exitCode ?? 0);
    const [stdout, stderr] = outputs.map(({ text }) => text());
    return { code, stdout: stdout!, stderr: stderr! };
  } finally {
    process.chdir(before.cwd);
    process.env = before.env;
    process.exitCode = before.exitCode;
    for (const { restore } of outputs) restore();
  }
}

/** Captures the output of a stream. Meanwhile the stream isn't a terminal. */
function capture(stream: NodeJS.WriteStream): { text: () => string; restore: () => void } {
  const written: Buffer[] = [];
  const properties = {
    isTTY: false,
    write: (chunk: string | Uint8Array, ...rest: unknown[]) => {
      written.push(Buffer.from(chunk as string));
      const callback = rest.find((argument) => typeof argument === 'function');
      if (callback) process.nextTick(callback);
      return true;
    },
  };
  const before = Object.keys(properties).map((name) => [name, Object.getOwnPropertyDescriptor(stream, name)] as const);
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(stream, name, { value, configurable: true, writable: true });
  const restore = () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(stream, name, descriptor);
      else Reflect.deleteProperty(stream, name);
    }
  };
  return { text: () => Buffer.concat(written).toString(), restore };
}
