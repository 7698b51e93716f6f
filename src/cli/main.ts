#!/usr/bin/env node
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { serveCommand } from './serve.ts';

const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };

const program = new Command('playwright-pool')
  .description('Pooled remote browsers for Playwright Test.')
  .version(version)
  .showHelpAfterError()
  .addCommand(serveCommand(process.env));

program.parseAsync().catch((error: unknown) => {
  console.error(`playwright-pool: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
