/** A run of a test suite as its CI names it: the same for all shards. `attempt` is missing if the CI doesn't count. */
export type CiRun = { run: string; attempt?: number };

/** The variables of a CI. `run` is the first one that is set; without it, the CI is another one. */
type System = {
  run: readonly string[];
  /** The name of the job without the number of the shard, which distinguishes suites of one pipeline. */
  job: readonly string[];
  attempt?: (value: (name: string) => string | undefined) => number;
};

/** https://docs.github.com/actions, docs.gitlab.com/ci, circleci.com/docs and so on list these variables. */
const systems: Record<string, System> = {
  github: { run: ['GITHUB_RUN_ID'], job: ['GITHUB_JOB'], attempt: (value) => Number(value('GITHUB_RUN_ATTEMPT')) },
  gitlab: { run: ['CI_PIPELINE_ID'], job: ['CI_JOB_GROUP_NAME', 'CI_JOB_NAME'] },
  // A rerun has another workflow of the same pipeline.
  circleci: { run: ['CIRCLE_PIPELINE_ID', 'CIRCLE_WORKFLOW_ID'], job: ['CIRCLE_JOB'] },
  azure: {
    run: ['BUILD_BUILDID'],
    job: ['SYSTEM_PHASENAME', 'SYSTEM_JOBNAME'],
    attempt: (value) => Number(value('SYSTEM_JOBATTEMPT')),
  },
  buildkite: {
    run: ['BUILDKITE_BUILD_ID'],
    job: ['BUILDKITE_STEP_KEY', 'BUILDKITE_STEP_ID'],
    attempt: (value) => Number(value('BUILDKITE_RETRY_COUNT')) + 1,
  },
  // Its parallel stages have a name for each shard.
  jenkins: { run: ['BUILD_TAG'], job: [] },
};

/**
 * The run that this process is a shard of; `undefined` if neither PLAYWRIGHT_POOL_RUN nor a known CI says it. `command`
 * distinguishes several commands of one job.
 */
export function ciRun(env: NodeJS.ProcessEnv, command = ''): CiRun | undefined {
  const value = (name: string) => env[name]?.trim() || undefined;
  const first = (names: readonly string[]) => names.map(value).find((text) => text !== undefined);
  const found = Object.entries(systems).find(([, { run }]) => first(run) !== undefined);
  const given = value('PLAYWRIGHT_POOL_RUN');
  if (!found) return given === undefined ? undefined : { run: runNameOf(given) };
  const [name, system] = found;
  // GitLab appends " 3/8" or ": [3, chromium]".
  const job = first(system.job)?.replace(/(?: \d+\/\d+|: \[.*\])$/, '');
  const attempt = system.attempt?.(value) || undefined;
  const parts = [name, first(system.run), job, command].filter(Boolean);
  return { run: runNameOf(given ?? parts.join(':')), ...(attempt !== undefined && { attempt }) };
}

/** A text with the characters and the length that the service allows. */
export function runNameOf(text: string): string {
  return text.replaceAll(/[^\w.:@+-]+/g, '-').slice(0, 200);
}
