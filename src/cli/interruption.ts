import { CommandError, exitCodes } from './command-error.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs a command, and aborts its signal on Ctrl+C, so that it leaves nothing behind. Who asks twice doesn't want to wait for that. It is
 * aborted, too, when nobody reads its output any more.
 */
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
    // Whatever an abort made fail on its way: the reason is what happened.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    process.stdout.off('error', lose);
  }
}
