"""`keyhole serve`: the live lab in a browser."""

from pathlib import Path
from typing import Annotated

import typer

PORT = 8437


def serve_command(
    *,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes any that is free.", min=0, max=65535)] = PORT,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A checkpoint to read: a folder, a file, or minilm; a small compiled head if not given.", metavar="DIR"
        ),
    ] = None,
    store: Path | None = None,
) -> None:
    """Open the live lab in a browser.

    Create a variable, watch samples turn into a law, infer a latent, read a model.

    The lab listens on this machine alone and needs no network. The printed address opens one browser. Everything it
    shows comes from the same functions as the other commands.

    Examples:

      keyhole serve

      keyhole serve --port 9000 --no-browser

      keyhole serve --model checkpoints/mine --model minilm
    """
    from keyhole.apps.live.run import serve
    from keyhole.apps.live.screens.base import Serving
    from keyhole.apps.live.screens.model import example_model
    from keyhole.files.atomic import home

    folder = home(store)
    models = tuple(model or ()) or (example_model(folder),)
    serve(Serving(folder, models), port, lambda line: typer.echo(line, err=True), browser=browser)
