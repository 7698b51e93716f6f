import type { RunTest } from '../../contract/test-runs.ts';
import type { Database } from '../database/database.ts';
import { Table } from '../database/table.ts';
import { median } from './division.ts';
import { suiteTestsTable } from './run-tables.ts';

/** How a test ended. */
export type Outcome = 'passed' | 'flaky' | 'failed' | 'skipped';

export type Finished = { test: number; outcome: Outcome; duration: number };

const keptDurations = 10;
const keptOutcomes = 30;
/** Longer than runs are kept. */
const keptMs = 90 * 24 * 60 * 60 * 1000;

/** The tests of all projects, with their latest durations and outcomes. */
export class TestHistories {
  readonly #rows: Table<typeof suiteTestsTable>;
  readonly #note;
  readonly #select;

  constructor(database: Database) {
    this.#rows = new Table(database, suiteTestsTable);
    this.#note = database.prepare(
      `INSERT INTO suite_tests (project_id, test_id, playwright_project, file, title, durations, outcomes, seen_at)
       SELECT :project, value ->> 'id', value ->> 'project', value ->> 'file', value -> 'title', '[]', '', :now
       FROM json_each(:tests) WHERE true
       ON CONFLICT (project_id, test_id) DO UPDATE SET playwright_project = excluded.playwright_project,
         file = excluded.file, title = excluded.title, seen_at = excluded.seen_at`,
    );
    this.#select = database.prepare(
      // One text instead of thousands of rows, because it takes less time.
      `SELECT json_group_array(json_array(test_id, id, durations)) AS rows FROM suite_tests
       WHERE project_id = :project AND test_id IN (SELECT value FROM json_each(:ids))`,
    );
  }

  /** Stores tests. Returns, by their Playwright ids, their own ids and their usual durations in ms, if these are known. */
  note(projectId: string, tests: RunTest[], now: number): Map<string, { id: number; usual: number | undefined }> {
    if (tests.length === 0) return new Map();
    this.#note.run({ project: projectId, tests: JSON.stringify(tests), now });
    const ids = JSON.stringify(tests.map(({ id }) => id));
    const { rows: text } = this.#select.get({ project: projectId, ids }) as { rows: string };
    const rows = JSON.parse(text) as [test: string, id: number, durations: string][];
    return new Map(rows.map(([test, id, durations]) => [test, { id, usual: usualDuration(durations) }]));
  }

  /** Adds results. A test that Playwright skipped without starting it has neither a duration nor an outcome. */
  add(results: readonly Finished[]): void {
    const finished = new Map(results.map((result) => [result.test, result]));
    for (const { id, durations, outcomes } of this.#rows.list({ id: [...finished.keys()] })) {
      const { outcome, duration } = finished.get(id)!;
      const isSkipped = outcome === 'skipped';
      const hasDuration = !isSkipped || duration > 0;
      this.#rows.change(
        { id },
        {
          ...(hasDuration && { durations: [...durations, Math.round(duration)].slice(-keptDurations) }),
          ...(!isSkipped && { outcomes: (outcomes + letterOf[outcome]).slice(-keptOutcomes) }),
        },
      );
    }
  }

  /** Removes tests that no run had for 90 days. */
  removeOld(projectId: string, now: number): void {
    this.#rows.delete({ project_id: projectId, seen_at: { below: now - keptMs } });
  }
}

export const letterOf = { passed: 'p', flaky: 'f', failed: 'x' } as const;

/** The median of stored durations, in ms. */
export function usualDuration(durations: string): number | undefined {
  return median(JSON.parse(durations) as number[]);
}

/** In how many of the stored outcomes a test was flaky. */
export function flakyRuns(outcomes: string): number {
  return outcomes.split(letterOf.flaky).length - 1;
}
