import { Command } from 'commander';
import { CommandError, exitCodes } from './command-error.ts';
import { checkMachine } from './check-machine.ts';
import { checkService } from './check-service.ts';
import { checkProjects, checkSources, checkSuite, isPooled } from './check-suite.ts';
import type { Examined, Finding } from './finding.ts';
import { interruptible } from './interruption.ts';
import { withProgress } from './progress.ts';
import { examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import type { PlaywrightProject, Suite } from './suite-reporter.ts';
import { printJSON } from './table.ts';
import { printable, styled } from './terminal.ts';

const help = `${examples('doctor', 'doctor --config e2e/playwright.config.ts', 'doctor --json')}\n\nExit code 1: something failed.`;
const marks = { ok: ['green', 'ok     '], warning: ['yellow', 'warning'], failure: ['red', 'FAILURE'] } as const;

/** The command `doctor`. */
export function doctorCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand(
    'doctor',
    'Check this machine, the service and the Playwright suite, and say how to fix each problem',
  )
    .option('-c, --config <file>', "the suite's config (default: Playwright's own choice)")
    .addHelpText('after', help)
    .action((options: ServiceOptions & { config?: string }) =>
      interruptible(async (signal) => {
        const { config } = options;
        const examined: Examined = {
          options,
          env,
          directory: process.cwd(),
          signal,
          ...(config !== undefined && { config }),
        };
        const findings = await withProgress('Checking', (show) => examine(examined, show));
        // Without this check, skipped steps would be reported as failures.
        signal.throwIfAborted();
        if (options.json) printJSON(findings);
        else for (const finding of findings) print(finding);
        const failures = findings.filter(({ level }) => level === 'failure').length;
        if (failures > 0) throw new CommandError(`${failures} of ${findings.length} checks failed`, exitCodes.failed);
      }),
    );
}

async function examine(examined: Examined, show: (what: string) => void): Promise<Finding[]> {
  show('the machine');
  const machine = await checkMachine(examined);
  show('the suite');
  const { suite, finding } = await checkSuite(examined);
  show('the service');
  if (suite === undefined) return [...machine, ...(await checkService(examined, [])), finding];
  const services: Finding[] = [];
  const projects: Finding[] = [];
  for (const part of partsByService(suite, examined)) {
    const service = await checkService(part.examined, part.suite.projects.filter(isPooled));
    services.push(...service);
    projects.push(...(await checkProjects(part.suite, part.examined, service[0]?.level === 'ok')));
  }
  return [...machine, ...services, finding, ...(await checkSources(suite)), ...projects];
}

/**
 * Groups the Playwright projects of a suite by the service that they use. Each part gets its service as environment
 * variables. A service that the command's options name counts for all projects.
 */
function partsByService(suite: Suite, examined: Examined): { suite: Suite; examined: Examined }[] {
  const { baseUrl, dataDir } = examined.options;
  const isNamed = baseUrl !== undefined || dataDir !== undefined;
  const parts = new Map<string, PlaywrightProject[]>();
  for (const project of suite.projects) {
    const service = JSON.stringify(isNamed ? {} : project.environment);
    parts.set(service, [...(parts.get(service) ?? []), project]);
  }
  return Array.from(parts, ([service, projects]) => ({
    suite: { ...suite, projects },
    examined: { ...examined, env: { ...examined.env, ...(JSON.parse(service) as NodeJS.ProcessEnv) } },
  }));
}

function print({ check, level, message, fix }: Finding): void {
  const [style, mark] = marks[level];
  console.log(`${styled(process.stdout, style, mark)} ${check}: ${printable(message)}`);
  if (fix !== undefined) console.log(`        ${printable(fix)}`);
}
