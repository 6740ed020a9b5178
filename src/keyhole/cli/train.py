"""`keyhole train`: one training run, watched."""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import Store, file_place, settings

EXAMPLES = """
Examples:

  keyhole train and:3 --context 100 --samples 300

  keyhole train majority:3 --context 50 --samples 400 --out course.svg

  keyhole train and:3 --context 100 --samples 30 --learner started:compiled
"""
TASK = "What is learned: and:3, parity:2, majority:3, or a formula. Its positions are drawn by the seed."
LEARNER = (
    "transformer, transformer:parity (or paper, bounded), or started:compiled: it starts from weights of the hidden "
    "function itself. Does training keep them?"
)
SET = "Settings of the inputs and of the transformer: law=balanced,width=32,heads=2."
OUT = "Write the course as a figure (.svg, .pdf, .png, .html) or the answer (.json, .txt)."


def train_command(
    task: Annotated[str, typer.Argument(help=TASK)],
    *,
    context: Annotated[int, typer.Option(help="Length of the context T.", min=1)] = 100,
    samples: Annotated[int, typer.Option(help="Size of the training set m.", min=1)] = 300,
    learner: Annotated[str, typer.Option(help=LEARNER, metavar="NAME")] = "transformer",
    set_: Annotated[str, typer.Option("--set", help=SET, metavar="LIST", show_default=False)] = "",
    seed: Annotated[int, typer.Option(help="Draws positions, samples and weights.", min=0)] = 0,
    store: Store = None,
    frames: Annotated[bool, typer.Option("--frames", help="Print every frame as a line of JSON, as it comes.")] = False,
    out: Annotated[Path | None, typer.Option(help=OUT, metavar="FILE", parser=file_place)] = None,
) -> object:
    """Train one transformer, and watch the loss, the accuracy and the attention on the relevant positions."""
    from keyhole.api.train import Frame, Trained, train
    from keyhole.cli.output import written
    from keyhole.files.record import record_of
    from keyhole.progress import Progress
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Trained.require_ending(out)

    def print_frame(progress: Progress) -> None:
        if isinstance(progress.detail, Frame):
            typer.echo(json.dumps({"frame": record_of(progress.detail)}))

    with view_progress("steps") as view:
        watch = print_frame if frames else view
        answer = train(task, context, samples, learner, settings=settings(set_), seed=seed, store=store, watch=watch)
    written(answer, out)
    if frames:
        shown = ("identity", "success", "accuracy")
        run = {name: getattr(answer.run, name) for name in shown}
        typer.echo(json.dumps({"run": {**run, "positions": answer.positions}}))
    return None if frames else answer


train_command.__doc__ = f"{cleandoc(train_command.__doc__ or '')}\n{EXAMPLES}"
