import { expect, test } from '@playwright/test';
import { ciRun } from '../../src/client/ci-run.ts';

const cases: [string, NodeJS.ProcessEnv, ReturnType<typeof ciRun>][] = [
  [
    'GitHub',
    { GITHUB_RUN_ID: '17', GITHUB_JOB: 'e2e', GITHUB_RUN_ATTEMPT: '2' },
    { run: 'github:17:e2e:hash', attempt: 2 },
  ],
  ['GitLab', { CI_PIPELINE_ID: '17', CI_JOB_NAME: 'end to end 3/8' }, { run: 'gitlab:17:end-to-end:hash' }],
  ['a matrix of GitLab', { CI_PIPELINE_ID: '17', CI_JOB_NAME: 'e2e: [3]' }, { run: 'gitlab:17:e2e:hash' }],
  ['CircleCI', { CIRCLE_PIPELINE_ID: 'p', CIRCLE_WORKFLOW_ID: 'w', CIRCLE_JOB: 'e2e' }, { run: 'circleci:p:e2e:hash' }],
  [
    'Azure',
    { BUILD_BUILDID: '17', SYSTEM_PHASENAME: 'e2e', SYSTEM_JOBATTEMPT: '3' },
    { run: 'azure:17:e2e:hash', attempt: 3 },
  ],
  [
    'Buildkite',
    { BUILDKITE_BUILD_ID: 'b', BUILDKITE_STEP_KEY: 'e2e', BUILDKITE_RETRY_COUNT: '0' },
    { run: 'buildkite:b:e2e:hash', attempt: 1 },
  ],
  ['Jenkins', { BUILD_TAG: 'jenkins-shop-17' }, { run: 'jenkins:jenkins-shop-17:hash' }],
  ['a user', { PLAYWRIGHT_POOL_RUN: 'nightly 17' }, { run: 'nightly-17' }],
  [
    'a user on GitHub',
    { PLAYWRIGHT_POOL_RUN: 'nightly', GITHUB_RUN_ID: '17', GITHUB_RUN_ATTEMPT: '2' },
    { run: 'nightly', attempt: 2 },
  ],
  ['nobody', { GITHUB_RUN_ID: ' ' }, undefined],
];

for (const [name, env, expected] of cases) {
  test(`takes the name of a run from the variables of ${name}`, () => {
    expect(ciRun(env, 'hash')).toEqual(expected);
  });
}
