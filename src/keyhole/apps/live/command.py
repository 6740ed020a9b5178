"""`keyhole serve`: the live lab in a browser."""

import os
from pathlib import Path
from typing import Annotated

import typer

PORT = 8437


def serve_command(
    *,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes any that is free.", min=0, max=65535)] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen at; another than this machine's own needs KEYHOLE_PASSWORD.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A checkpoint to read: a folder, a file, or minilm. May be given often.", metavar="DIR"),
    ] = None,
    report: Annotated[Path, typer.Option(help="Folder that `keyhole reproduce` wrote.", metavar="DIR")] = Path(
        "report"
    ),
    store: Annotated[
        Path | None, typer.Option(help="Folder of the runs; KEYHOLE_HOME or .keyhole, if not given.", metavar="DIR")
    ] = None,
) -> None:
    """Open the live lab in a browser.

    Create a variable, watch samples turn into a law, infer a latent, read a model, read the claims.

    The lab listens on this machine alone and needs no network. The printed address opens one browser. Everything it
    shows comes from the same functions as the other commands.

    Examples:

      keyhole serve

      keyhole serve --port 9000 --no-browser

      keyhole serve --model checkpoints/mine --model minilm
    """
    from keyhole.apps.live.run import serve
    from keyhole.apps.live.settings import Serving
    from keyhole.files.atomic import home

    password = os.environ.get("KEYHOLE_PASSWORD")
    serving = Serving(home(store), report, tuple(model or ()), host=host, port=port, password=password)
    serve(serving, lambda line: typer.echo(line, err=True), browser=browser)
