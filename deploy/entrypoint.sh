#!/bin/sh
# Runs playwright-pool. A service offers all installed versions of Playwright.
if [ "$1" = serve ]; then
  for core in /opt/playwright/*/node_modules/playwright-core; do
    if [ -d "$core" ]; then set -- "$@" --playwright-core "$core"; fi
  done
fi
exec /opt/playwright-pool/node_modules/.bin/playwright-pool "$@"
