import { defineConfig } from '@playwright/test';

const rooms = ['contract', 'client', 'archive', 'service', 'fixtures', 'cli', 'player', 'faults', 'abuse', 'package'];

export default defineConfig({
  testDir: 'test',
  outputDir: 'test-results',
  workers: 2,
  fullyParallel: true,
  timeout: 60_000,
  retries: 0,
  forbidOnly: !!process.env['CI'],
  reporter: 'list',
  projects: rooms.map((room) => ({ name: room, testDir: `test/${room}` })),
});
