import { defineConfig } from '@playwright/experimental-ct-react';

export default defineConfig({
  reporter: [['line'], ['playwright-pool/reporter']],
  workers: 1,
  use: { ctPort: Number(process.env['TEST_PORT']), ctTemplateDir: '.' },
});
