#!/usr/bin/env bash
# Sets up what the tests need, Chromium and Node.js included, and runs the whole suite: scripts/test.sh [pytest options]
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh requirements-dev.txt
missing=()
command -v chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
command -v npm >/dev/null || missing+=(nodejs npm)
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  if command -v apt-get >/dev/null; then
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq "${missing[@]}" >/dev/null
  else
    echo "the tests need ${missing[*]}: install with your package manager" >&2
    exit 2
  fi
fi
npm ci --silent --no-audit --no-fund
npx --no-install eslint
.venv/bin/ruff check .
.venv/bin/ruff format --check .
exec .venv/bin/python -m pytest "$@"
