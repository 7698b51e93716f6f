import { CommandError, exitCodes } from './command-error.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs a command with a signal that aborts on Ctrl+C, or when nobody reads its output. A second Ctrl+C exits at once. */
export async function interruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort(new CommandError('interrupted', exitCodes.interrupted));
  };
  let isOutputLost = false;
  const lose = () => {
    isOutputLost = true;
    controller.abort();
  };
  for (const signal of signals) process.on(signal, interrupt);
  process.stdout.on('error', lose);
  try {
    await run(controller.signal);
  } catch (error) {
    if (isOutputLost) return;
    // After an abort, throw its reason: the error is only a consequence.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    process.stdout.off('error', lose);
  }
}
