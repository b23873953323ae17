"""Runs ``tutorial.ipynb`` and stores its outputs: ``python -m docs.tutorial``, after every change of it.

Nothing that differs from run to run is stored. The kernel is that of this Python, so none has to be installed.
"""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")
NOT_STORED = "not-stored"  # tag of cells whose outputs are too large to be kept
_QUIET = {"PYTHONWARNINGS": "ignore:IProgress not found"}  # progress bars are not shown here anyway


def read() -> NotebookNode:
    """The notebook as it is stored."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(notebook: NotebookNode) -> NotebookNode:
    """The notebook with the outputs of a run in the project's folder.

    Raises nbclient's CellExecutionError, with the traceback, when a cell fails.
    """
    kernel = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[])
    )
    return NotebookClient(
        notebook,
        km=kernel,
        timeout=120,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(NOTEBOOK.parent.parent)}},
    ).execute(cleanup_kc=True, env=os.environ | _QUIET)


def main() -> None:
    """Run it and write it back."""
    notebook = executed(read())
    for cell in notebook.cells:
        if NOT_STORED in cell.metadata.get("tags", ()):
            cell.outputs = []
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, NOTEBOOK)
    print(NOTEBOOK.name, NOTEBOOK.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main()
