import { runName, type testRuns } from '../../contract/test-runs.ts';
import { invalidField } from '../../contract/errors.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { Runs } from './runs.ts';

/** The handlers of the operations on runs of test suites. */
export function testRunHandlers(runs: Runs): HandlerTree<typeof testRuns> {
  return {
    plan: ({ params: { run }, body, caller }) => runs.plan(caller.projectId, checked(run), body),
    report: ({ params: { run }, body, caller }) => runs.report(caller.projectId, run, body),
    claim: ({ params: { run }, body, caller, signal }) => runs.claim(caller.projectId, run, body, signal),
    list: ({ query, caller }) => runs.views.list(caller.projectId, query),
    retrieve: ({ params: { run }, query, caller }) => runs.views.run(runs.find(caller.projectId, run, query)),
    tests: ({ params: { run }, query, caller }) => runs.views.tests(runs.find(caller.projectId, run, query), query),
  };
}

function checked(run: string): string {
  const { error } = runName.safeParse(run);
  if (error) throw invalidField('run', error.issues[0]!.message);
  return run;
}
