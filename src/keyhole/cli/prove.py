"""`keyhole prove`: what a model computes on every input, or whether a claim about it is true."""

import json as plain
from contextlib import nullcontext
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli.arguments import complete_runs, count, lengths
from keyhole.errors import ArgumentError
from keyhole.files.record import record_of
from keyhole.progress import Progress

if TYPE_CHECKING:
    from keyhole.api.trained_run import TrainedRun

EXAMPLES = """
Examples:

  keyhole prove and.safetensors

  keyhole prove --run 3f0a91c2 --assume-junta 3

  keyhole prove weights.safetensors --data train.npz --assume-junta 3

  keyhole prove ./model --claim majority --lengths 1..50 --read-at SEP

  keyhole prove ./model --claim "even number of 1" --lengths 10

  keyhole prove adder.pt --architecture micro_adder.py --claim addition:10
"""
MODEL = (
    "A model file: keyhole's own, or PyTorch weights in safetensors with a description beside them; with --claim also "
    "a folder with a one-layer checkpoint."
)
RUN = "Instead of a model: a run of `keyhole learn`, with its data; last is the newest."
CLAIM = (
    'What the model should answer: "majority", "even number of a", "at least 3 of 1", "first is 1", "equal numbers '
    'of a and b", "x3 & x7" (positions count from 0), "regex:(ab)*", "automaton:FILE"; of some words only: "majority '
    'where first is 1".'
)
ARCHITECTURE = (
    "A Python file, which is run: its function `describe` makes a step model of the tensors. The claim is then "
    "addition:10, subtraction:10, sum:3:10, modular:59, copy:8, reverse:8 or columns:FILE."
)
READ = (
    "The token at which the answer is read: the first of --before, or one put after the word. Without it, the last "
    "symbol of the word."
)
ANSWERS = (
    "The tokens for false and true, several as no|No; then others against which the right one must win. The first and "
    "the last symbol if not said."
)
SAMPLES = "Random inputs to try beside the proof: 1e6, and 1e5 of each length of a claim, if not said."
BITS, SECONDS = "0,1", 10.0


def prove_command(
    model: Annotated[str | None, typer.Argument(help=MODEL, show_default=False)] = None,
    *,
    run: Annotated[str | None, typer.Option(help=RUN, metavar="ID", autocompletion=complete_runs)] = None,
    claim: Annotated[str | None, typer.Option(help=CLAIM, metavar="TEXT")] = None,
    architecture: Annotated[Path | None, typer.Option(help=ARCHITECTURE, metavar="FILE")] = None,
    length: Annotated[
        str | None,
        typer.Option("--lengths", help="Lengths of words: 1..50 is every length to 50; 5,10,20 those.", metavar="LIST"),
    ] = None,
    alphabet: Annotated[str, typer.Option(help="The symbols of words, as tokens of the model.", metavar="S,S")] = BITS,
    before: Annotated[str, typer.Option(help="Tokens that stand before every word.", metavar="TOKEN,…")] = "",
    read_at: Annotated[str | None, typer.Option(help=READ, metavar="TOKEN")] = None,
    answers: Annotated[str | None, typer.Option(help=ANSWERS, metavar="F,T")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The training set: .npz with inputs and labels, or .csv.", metavar="FILE")
    ] = None,
    assume_junta: Annotated[
        int | None, typer.Option(help="Assume that the target reads at most S positions.", metavar="S", min=0)
    ] = None,
    lists: Annotated[
        int | None, typer.Option(help="Read every head as decision lists too, N lines of each.", metavar="N", min=1)
    ] = None,
    samples: Annotated[str | None, typer.Option(help=SAMPLES, metavar="N")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for a proof, or for each length.", metavar="S")] = SECONDS,
    store: Annotated[
        Path | None, typer.Option(help="Folder of runs and verdicts; KEYHOLE_HOME or .keyhole.", metavar="DIR")
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", hidden=True)] = False,
    out: Path | None = None,
) -> object:
    """Prove what a model computes on every input, or that a claim about it is true; or find an input where not.

    Without --claim the function is read off the model, compared with it on every input, and its error is bounded from
    the training set. PROVED does not mean that the function is the one you intended.

    --out writes the answer (.json, .txt or .html), the model that it is about (.safetensors), a certificate that
    `keyhole check` repeats (.cert), or a claim's figure (.svg, .png).

    Exit code 0 if the question was answered (also undecided), 1 if a wrong input was found, 2 for bad input.
    """
    from keyhole.api.prove import Effort, Proof, prove
    from keyhole.show.progress_view import view_progress

    if (model is None) == (run is None):
        raise ArgumentError("Name a model, or a run with --run: one of the two.")
    about_claim = {"--lengths": length, "--before": before or None, "--read-at": read_at, "--answers": answers}
    about_function = {"--run": run, "--data": data, "--assume-junta": assume_junta, "--lists": lists}
    ignored = [name for name, value in (about_claim if claim is None else about_function).items() if value is not None]
    if ignored:
        raise ArgumentError(f"{ignored[0]} {'needs' if claim is None else 'is not about'} a --claim; leave it out.")
    if architecture is not None:
        if claim is None:
            raise ArgumentError("--architecture needs a --claim, such as addition:10.")
        unused = about_claim | {
            "--alphabet": None if alphabet == BITS else alphabet,
            "--samples": samples,
            "--time-limit": None if time_limit == SECONDS else time_limit,
        }
        for name in (name for name, value in unused.items() if value is not None):
            raise ArgumentError(f"{name} is not used with --architecture; leave it out.")
        from keyhole.api.prove_steps import StepProof, prove_steps

        StepProof.require_ending(out)
        with view_progress("reading the model") as watch:
            return prove_steps(str(model), claim, architecture=architecture, watch=watch)
    effort = Effort(time_limit, None if samples is None else count(samples))
    if claim is not None:
        from keyhole.api.prove_claim import ClaimProof, Words, prove_claim

        ClaimProof.require_ending(out)
        stated, _, where = claim.partition(" where ")
        words = Words(
            _listed(alphabet), _listed(before), read_at, None if answers is None else _listed(answers), where or None
        )
        listed = None if length is None else lengths(length)
        with nullcontext(_print_row) if rows else view_progress("reading the model") as watch:
            claimed = prove_claim(str(model), stated, listed, words=words, effort=effort, store=store, watch=watch)
        if rows:
            typer.echo(plain.dumps({"verified": {"summary": claimed.summary}}))
            raise typer.Exit(claimed.answer_is_no)
        return claimed
    Proof.require_ending(out)
    with view_progress("reading the model") as watch:
        if run is not None:
            from keyhole.api.stored_run import read_run

            source: str | TrainedRun = read_run(run, store, tell=lambda says: typer.echo(says, err=True))
        else:
            source = str(model)
        proof = prove(source, data, assume_junta=assume_junta, effort=effort, watch=watch)
    return proof if lists is None else proof.with_lists(lists)


prove_command.__doc__ = f"{cleandoc(prove_command.__doc__ or '')}\n{EXAMPLES}"


def _print_row(progress: Progress) -> None:
    """Print the verdict of a length as a line of JSON."""
    if progress.detail is not None:
        typer.echo(plain.dumps({"length": record_of(progress.detail)}))


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []
