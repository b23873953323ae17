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
    mask_token_id: Annotated[
        int | None, typer.Option(help="For checkpoints whose config.json does not name it.")
    ] = None,
) -> None:
    """Open the ReFusion decoding visualizer in a browser."""
    from app.ui import Model, launch

    typer.echo(f"ReFusion decoding visualizer: http://{host}:{port}")
    launch(host=host, port=port, model=Model(model, device, mask_token_id))


if __name__ == "__main__":
    typer.run(main)
