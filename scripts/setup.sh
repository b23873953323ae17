#!/usr/bin/env bash
# Makes .venv with the packages of a requirements file: scripts/setup.sh requirements.txt
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  echo "Python 3.10 or newer is needed; set PYTHON to one" >&2
  exit 2
fi
if [ ! -x .venv/bin/python ]; then
  "$python" -m venv .venv || {
    echo "the venv module is missing: install it (Debian: apt install python3-venv)" >&2
    exit 2
  }
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1"
