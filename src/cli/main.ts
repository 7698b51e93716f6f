#!/usr/bin/env node
import { exitCodes } from './command-error.ts';
import { report, run } from './program.ts';

process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  // EPIPE: a reader such as `head` has read enough.
  if (code === 'EPIPE') return;
  report(new Error(`the output can't be written (${code})`), process.env);
  process.exitCode = exitCodes.failed;
});
// Ignore later errors of stdout and all errors of stderr: they must not end the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

void main();

async function main(): Promise<void> {
  const exitCode = await run(process.argv.slice(2), process.env);
  if (exitCode !== 0) process.exitCode = exitCode;
}
