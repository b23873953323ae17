"""Runs untrusted Python functions in a process of their own, with limits on time, memory and files.

It stops accidents of a model's code (endless loops, huge lists, stray imports), not attackers.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from typing import Any

FAILED = "<failed>"  # the result of a case that raised an exception
_ALLOWED_IMPORTS = {"math"}

# Runs in the child: source and argument lists come on stdin, results go to stdout as JSON.
_RUNNER = """
import json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
except ImportError:
    pass
job = json.load(sys.stdin)
scope = {}
exec(job["source"], scope)
results = []
for arguments in job["cases"]:
    try:
        results.append(scope[job["name"]](*arguments))
    except Exception:
        results.append(job["failed"])
print(json.dumps(results))
"""


def function_name(source: str) -> str | None:
    """The name of the last top-level function, or None if the source is not acceptable Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        imports = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            imports = [node.module or "."]
        names = [getattr(node, "id", ""), getattr(node, "attr", "")]
        if any(name not in _ALLOWED_IMPORTS for name in imports):
            return None
        if any(str(name).startswith("__") or name in ("open", "exec", "eval") for name in names):
            return None
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return functions[-1] if functions else None


def run_function(source: str, cases: list[list[Any]], timeout_s: float = 5.0) -> list[Any] | None:
    """Results of the source's last function, FAILED where it raised; None if it did not run at all."""
    name = function_name(source)
    if name is None:
        return None
    job = json.dumps({"source": source, "name": name, "cases": cases, "failed": FAILED})
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", _RUNNER],
                input=job,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                cwd=folder,
                env={},
            )
        except subprocess.TimeoutExpired:
            return None
    try:
        return json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        return None
