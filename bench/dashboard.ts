import type { Browser } from '@playwright/test';
import type { DashboardEvent, SessionState } from '../build/src/contract/dashboard-events.js';
import type { Comparison } from './comparison.ts';
import { signIn } from './dashboard-view.ts';
import { ServiceProcess } from './service.ts';
import { cost } from './dashboard-cost.ts';
import { launchStock } from './stock.ts';

export const runs = 5;

const leases = 500;

/** Measures the dashboard in Chromium: its cost, how soon it can be used, and how smoothly it scrolls. */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  const browser = await launchStock();
  try {
    const firstViews: number[] = [];
    const longTasks: number[] = [];
    for (let run = 0; run < runs; run++) {
      firstViews.push(await timeFirstView(browser, service.url));
      longTasks.push(await longestTask(browser, service.url));
    }
    return [
      ...(await cost(browser, runs)),
      { measure: 'the dashboard to its first view', unit: 'ms', ours: firstViews },
      { measure: `longest task while ${leases} leases are scrolled and filtered`, unit: 'ms', ours: longTasks },
    ];
  } finally {
    await browser.close();
  }
}

/** The time from the navigation to the numbers of the first view, for a person who is signed in. In milliseconds. */
async function timeFirstView(browser: Browser, url: string): Promise<number> {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await signIn(page, url);
  await page.goto('about:blank');
  const started = performance.now();
  await page.goto(url);
  await page.getByText('Leased').first().waitFor();
  return performance.now() - started;
}

/** In milliseconds; 0 if no task took more than 50 ms. */
async function longestTask(browser: Browser, url: string): Promise<number> {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.route('**/dashboard/events', (route) =>
    route.request().method() === 'GET'
      ? route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(crowd())}\n\n` })
      : route.continue(),
  );
  await page.addInitScript(`globalThis.tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask' });`);
  await signIn(page, `${url}/#leases`);
  await page.getByText(`${leases} leases`).waitFor();
  await page.evaluate('tasks.length = 0');
  await page.getByRole('region', { name: 'Leases' }).hover();
  for (let turn = 0; turn < 20; turn++) await page.mouse.wheel(0, 1500);
  await page.getByText(`test number ${leases - 1}`).waitFor();
  await page.getByLabel('Filter by').pressSequentially('number 42');
  await page.getByText('15 leases').waitFor();
  return await page.evaluate<number>('Math.max(0, ...tasks)');
}

/** The state of a service with many leases. */
function crowd(): DashboardEvent {
  const now = Date.now();
  const sessions = Array.from({ length: leases }, (_, index): SessionState => ({
    id: `session-${index}`,
    state: 'leased',
    project_id: 'project',
    pool: { id: 'pool', name: 'ci' },
    created_at: now - index * 1000,
    leased_at: now - index * 1000,
    test: `test number ${index}`,
    file: `tests/file-${index % 40}.spec.ts`,
    worker: String(index % 16),
  }));
  const service = {
    version: '0.1.0',
    key: 'bench',
    projects: [{ id: 'project', name: 'default' }],
    is_control_plane: false,
    draining: false,
  };
  const counts = { leased: leases, starting: 0, waiting: 0, free: 0, draining: 0 };
  return { type: 'snapshot', now, service, counts, machines: [], pools: [], sessions, ended: [], history: [] };
}
