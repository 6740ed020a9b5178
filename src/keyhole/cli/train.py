"""`keyhole train`: one training run, watched."""

import json
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import file_place, settings

START = "Where training starts: random, or compiled (weights of the hidden function itself: does training keep them?)."
TASK = "What is learned: and:3, parity:2, majority:3, or a formula. Its positions are drawn by the seed."


def train_command(
    task: Annotated[str, typer.Argument(help=TASK)],
    *,
    context: Annotated[int, typer.Option(help="Length of the context T.", min=1)] = 100,
    samples: Annotated[int, typer.Option(help="Size of the training set m.", min=1)] = 300,
    preset: Annotated[
        str, typer.Option(help="Settings of the transformer: default, parity, paper, bounded.")
    ] = "default",
    set_: Annotated[str, typer.Option("--set", help="Other settings: width=32,heads=2.", show_default=False)] = "",
    law: Annotated[str, typer.Option(help="How bits are drawn: uniform, balanced, or a probability of 1.")] = "uniform",
    start: Annotated[str, typer.Option(help=START, metavar="NAME")] = "random",
    seed: Annotated[int, typer.Option(help="Draws positions, samples and weights.", min=0)] = 0,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the runs; KEYHOLE_HOME or .keyhole, if not given.", metavar="DIR")
    ] = None,
    frames: Annotated[bool, typer.Option("--frames", help="Print every frame as a line of JSON, as it comes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the course as a figure (.svg, .pdf, .png, .html) or as .json.",
            metavar="FILE",
            parser=file_place,
        ),
    ] = None,
) -> None:
    """Train one transformer, and watch the loss, the accuracy and the attention on the relevant positions.

    Examples:

      keyhole train and:3 --context 100 --samples 300

      keyhole train majority:3 --context 50 --samples 400 --out course.svg

      keyhole train and:3 --context 100 --samples 30 --start compiled
    """
    from keyhole.api.train import Frame, Trained, train
    from keyhole.cli.printing import print_document
    from keyhole.progress import Progress
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Trained.require_ending(out)

    def print_frame(progress: Progress) -> None:
        if isinstance(progress.detail, Frame):
            typer.echo(json.dumps({"frame": progress.detail.record()}))

    changes = settings(set_) if set_ else {}
    options = {"preset": preset, "settings": changes, "law": law, "start": start, "seed": seed, "store": store}
    if frames:
        answer = train(task, context, samples, watch=print_frame, **options)  # type: ignore[arg-type]
        typer.echo(json.dumps({"run": {"identity": answer.run.identity, "success": answer.run.success,
                                       "accuracy": answer.run.accuracy, "positions": answer.positions}}))  # fmt: skip
    else:
        with view_progress("steps") as watch:
            answer = train(task, context, samples, watch=watch, **options)  # type: ignore[arg-type]
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)
    if as_json:
        typer.echo(answer.to_json())
    elif not frames:
        print_document(answer.document())
