#!/bin/sh
# Runs playwright-pool. A service offers all installed versions of Playwright.
if [ "$1" = serve ]; then
  for core in /opt/playwright/*/node_modules/playwright-core; do
    if [ -d "$core" ]; then set -- "$@" --playwright-core "$core"; fi
  done
fi
set -- /opt/playwright-pool/node_modules/.bin/playwright-pool "$@"
# Only CAP_SYS_ADMIN may make the namespaces of sessions. In a user namespace of its own, the service has it.
ids='--map-users=0,0,65536 --map-groups=0,0,65536'
if [ "$(id -u)" = 0 ] && ! unshare --mount true 2>/dev/null && unshare --user $ids true 2>/dev/null; then
  set -- unshare --user $ids -- "$@"
fi
exec "$@"
