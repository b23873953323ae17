#!/usr/bin/env bash
# Sets up what the tests need, Chromium included, and runs the whole suite: scripts/test.sh [pytest options]
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh requirements-dev.txt
if ! command -v chromium chromium-browser google-chrome >/dev/null; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  if command -v apt-get >/dev/null; then
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq chromium >/dev/null
  else
    echo "the browser tests need Chromium: install it with your package manager" >&2
    exit 2
  fi
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
exec .venv/bin/python -m pytest "$@"
