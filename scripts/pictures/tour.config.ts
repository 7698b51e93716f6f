import { defineConfig } from 'playwright-pool';
import pictures from './playwright.config.ts';

export default defineConfig({
  ...pictures,
  workers: 3,
  fullyParallel: true,
  timeout: 120_000,
  reporter: [['list']],
  use: { ...pictures.use, pool: { name: 'shop', size: 4 }, poolReplay: 'on' },
  projects: pictures.projects!.map((project) =>
    project.name === 'todo' ? Object.assign(project, { testMatch: 'tour.spec.ts' }) : project,
  ),
});
