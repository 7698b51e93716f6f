import { Command } from 'commander';
import { CommandError, exitCodes } from './command-error.ts';
import type { ConnectionOptions } from './connection.ts';
import { checkMachine } from './check-machine.ts';
import { checkService } from './check-service.ts';
import { checkSuite } from './check-suite.ts';
import { interruptible } from './interruption.ts';
import { withProgress } from './progress.ts';
import { examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON } from './table.ts';
import { printable, styled } from './terminal.ts';

/** What a check found. A failure keeps tests from running as configured; a warning may explain what else goes wrong. */
export type Finding = { check: string; level: 'ok' | 'warning' | 'failure'; message: string; fix?: string };

/** Which service and suite are examined, and where from. */
export type Examined = { options: ConnectionOptions; env: NodeJS.ProcessEnv; directory: string; config?: string; signal: AbortSignal };

const marks = { ok: ['green', 'ok     '], warning: ['yellow', 'warning'], failure: ['red', 'FAILURE'] } as const;

/** The command that looks for what would keep a suite from running on the pool. */
export function doctorCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('doctor', 'Check this machine, the service and the Playwright config, and say how to mend what is wrong')
    .option('-c, --config <file>', "the suite's config (default: Playwright's own choice)")
    .addHelpText(
      'after',
      `${examples('doctor', 'doctor --config e2e/playwright.config.ts', 'doctor --json')}\n\nExit code 1: something failed.`,
    )
    .action((options: ServiceOptions & { config?: string }) =>
      interruptible(async (signal) => {
        const { config } = options;
        const examined: Examined = { options, env, directory: process.cwd(), signal, ...(config !== undefined && { config }) };
        const findings = await withProgress('Checking', async (show) => {
          show('the machine');
          const machine = await checkMachine(examined);
          show('the service');
          const service = await checkService(examined);
          show('the suite');
          return [...machine, ...service, ...(await checkSuite(examined))];
        });
        if (options.json) printJSON(findings);
        else for (const finding of findings) print(finding);
        const failures = findings.filter(({ level }) => level === 'failure').length;
        if (failures > 0) throw new CommandError(`${failures} of ${findings.length} checks failed`, exitCodes.failed);
      }),
    );
}

function print({ check, level, message, fix }: Finding): void {
  const [style, mark] = marks[level];
  console.log(`${styled(process.stdout, style, mark)} ${check}: ${printable(message)}`);
  if (fix !== undefined) console.log(`        ${printable(fix)}`);
}
