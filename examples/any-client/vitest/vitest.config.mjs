import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    browser: {
      enabled: true,
      headless: true,
      provider: playwright({ connectOptions: { wsEndpoint: process.env.PLAYWRIGHT_POOL_WS_URL } }),
      instances: [{ browser: 'chromium' }],
    },
  },
});
