"""`keyhole train`: one training run, watched."""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_functions, complete_learners, settings
from keyhole.errors import ArgumentError

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


def train_command(
    task: Annotated[str, typer.Argument(help=TASK, autocompletion=complete_functions)],
    *,
    context: Annotated[int, typer.Option(help="Length of the context T.", min=1)] = 100,
    samples: Annotated[int, typer.Option(help="Size of the training set m.", min=1)] = 300,
    learner: Annotated[
        str, typer.Option(help=LEARNER, metavar="NAME", autocompletion=complete_learners)
    ] = "transformer",
    set_: Annotated[str, typer.Option("--set", help=SET, metavar="LIST", show_default=False)] = "",
    seed: Annotated[int, typer.Option(help="Draws positions, samples and weights.", min=0)] = 0,
    store: Path | None = None,
    frames: Annotated[bool, typer.Option("--frames", help="Print every frame as a line of JSON, as it comes.")] = False,
    out: Path | None = None,
) -> object:
    """Train one transformer, and watch the loss, the accuracy and the attention on the relevant positions.

    --out writes the course as a figure (.svg, .pdf, .png, .html) or the answer (.json, .txt).
    """
    from keyhole.api.train import Frame, Trained, train
    from keyhole.files.record import record_of
    from keyhole.progress import Progress
    from keyhole.show.progress_view import view_progress

    Trained.require_ending(out)
    if frames and out is not None:
        raise ArgumentError("--frames prints the course as it comes; leave --out out.")

    def print_frame(progress: Progress) -> None:
        if isinstance(progress.detail, Frame):
            typer.echo(json.dumps({"frame": record_of(progress.detail)}))

    with view_progress("steps") as view:
        watch = print_frame if frames else view
        answer = train(task, context, samples, learner, settings=settings(set_), seed=seed, store=store, watch=watch)
    if frames:
        shown = ("identity", "success", "accuracy")
        run = {name: getattr(answer.run, name) for name in shown}
        typer.echo(json.dumps({"run": {**run, "positions": answer.positions}}))
    return None if frames else answer


train_command.__doc__ = f"{cleandoc(train_command.__doc__ or '')}\n{EXAMPLES}"
