#!/usr/bin/env bash
# Sets up what the app needs and starts it: scripts/start.sh [--port 7860] [--model bundled] …
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh requirements.txt
exec .venv/bin/python app.py "$@"
