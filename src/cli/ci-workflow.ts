/** A GitHub workflow that runs a suite on the pool, in two shards, and merges their reports. */
export const workflow = `name: Playwright
on:
  push:
    branches: [main]
  pull_request:

jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    strategy:
      fail-fast: false
      matrix:
        shard: [1, 2]
    # For a service on other machines instead of the one that starts by itself:
    # env:
    #   PLAYWRIGHT_POOL_BASE_URL: \${{ vars.PLAYWRIGHT_POOL_BASE_URL }}
    #   PLAYWRIGHT_POOL_API_KEY: \${{ secrets.PLAYWRIGHT_POOL_API_KEY }}
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: lts/*
          cache: npm
      - run: npm ci
      - run: npx playwright install --with-deps chromium-headless-shell
      - run: npx playwright test --shard \${{ matrix.shard }}/2 --reporter blob,playwright-pool/reporter
      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() }}
        with:
          name: blob-report-\${{ matrix.shard }}
          path: blob-report
          retention-days: 1

  report:
    needs: test
    if: \${{ !cancelled() }}
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: lts/*
          cache: npm
      - run: npm ci
      - uses: actions/download-artifact@v5
        with:
          path: blob-reports
          pattern: blob-report-*
          merge-multiple: true
      - run: npx playwright merge-reports --reporter html,playwright-pool/reporter blob-reports
      - uses: actions/upload-artifact@v4
        with:
          name: playwright-report
          path: playwright-report
`;

/** The workflow for a suite whose config has this text: where it speaks of other browsers than Chromium, they are installed too. */
export function workflowFor(config: string): string {
  return /firefox|webkit|safari/i.test(config) ? workflow.replace(' chromium-headless-shell', '') : workflow;
}
