"""Starts the visualizer: ``python app.py``, also the entry of a hosted Gradio Space."""

from __future__ import annotations

from typing import Annotated

import typer


def main(
    host: Annotated[
        str, typer.Option(envvar="GRADIO_SERVER_NAME", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="GRADIO_SERVER_PORT", help="Port.")] = 7860,
    model: Annotated[str, typer.Option(help='"bundled", a folder, or a hub id.')] = "bundled",
    device: Annotated[str, typer.Option(help='"auto" or a torch device.')] = "auto",
) -> None:
    """Open the ReFusion decoding visualizer in a browser."""
    from app.ui import launch

    typer.echo(f"ReFusion decoding visualizer: http://{host}:{port}")
    launch(host=host, port=port, model=model, device=device)


if __name__ == "__main__":
    typer.run(main)
