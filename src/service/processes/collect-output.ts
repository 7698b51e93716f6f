import { finished, type Running } from './running.ts';

/** The most output of a program that is kept until its end, in bytes. */
const most = 16 * 1024 * 1024;

export type CollectedOutput = { stdout: Buffer; stderr: Buffer; isTooLong: boolean };

/** Collects the output of a program until it ends. Kills a program that writes more than 16 MiB. */
export async function collectOutput(program: Running): Promise<CollectedOutput> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let size = 0;
  for (const name of ['stdout', 'stderr'] as const) {
    program.outputs[name]?.on('data', (data: Buffer) => {
      size += data.length;
      if (size <= most) chunks[name].push(data);
      else program.kill();
    });
  }
  await finished(program);
  return {
    stdout: Buffer.concat(chunks.stdout),
    stderr: Buffer.concat(chunks.stderr),
    isTooLong: size > most,
  };
}
