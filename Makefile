.PHONY: start test format

start:
	bash scripts/start.sh

test:
	bash scripts/test.sh

format:
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
