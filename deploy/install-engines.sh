#!/bin/sh
# Installs Playwright's ffmpeg, which records videos, and its builds of the engines in ENGINES, beside Debian's Chromium. With
# "check", only checks the names.
set -e
others=
for engine in ${ENGINES}; do
  case "${engine}" in
    chromium) ;;
    firefox | webkit) others="${others} ${engine}" ;;
    *) echo "ENGINES: there is no engine ${engine}: use chromium, firefox, webkit" >&2 && exit 1 ;;
  esac
done
if [ "$1" = check ]; then exit 0; fi
# Each version of Playwright has builds of its own.
for core in /opt/playwright-pool/node_modules/playwright-core /opt/playwright/*/node_modules/playwright-core; do
  if [ -d "${core}" ]; then node "${core}/cli.js" install ${others:+--with-deps} ffmpeg${others}; fi
done
apt-get clean
rm -rf /var/lib/apt/lists/*
