"""`keyhole verify`: is a claim about a model true on every word of every length?"""

import json as plain
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, file_place, lengths, refuse_ignored
from keyhole.cli.refusals import INTERRUPTED

MODEL = (
    "A folder with a one-layer checkpoint (config.json and weights), a file of weights, or a model compiled by keyhole."
)
CLAIM = (
    'What it should answer: "majority", "even number of a", "at least 3 of 1", "first is 1", "equal numbers of a and '
    'b", "x3 & x7" (positions count from 0), "regex:(ab)*", "automaton:FILE".'
)
LENGTHS = "Lengths of words: 1..50 is every length from 1 to 50; 5,10,20 those three."
READ = "The token after the word at which the answer is read; without it, the last symbol of the word."


def verify_command(
    model: Annotated[Path, typer.Argument(metavar="DIR", help=MODEL, show_default=False)],
    claim: Annotated[str, typer.Option(help=CLAIM, metavar="TEXT", show_default=False)],
    length: Annotated[str | None, typer.Option("--lengths", help=LENGTHS, metavar="LIST")] = None,
    alphabet: Annotated[str, typer.Option(help="The symbols of words, as tokens of the model.", metavar="S,S")] = "0,1",
    before: Annotated[str, typer.Option(help="Tokens that stand before every word.", metavar="TOKEN,…")] = "",
    read_at: Annotated[str | None, typer.Option(help=READ, metavar="TOKEN")] = None,
    read_first: Annotated[
        bool, typer.Option("--read-first", help="Read the answer at the first token before the word, as at [CLS].")
    ] = False,
    answers: Annotated[
        str | None,
        typer.Option(
            help="The tokens for false and true, several as no|No; the first and last symbol if not said.",
            metavar="F,T",
        ),
    ] = None,
    among: Annotated[
        str, typer.Option(help="Further tokens against which the right answer must win.", metavar="TOKEN,…")
    ] = "",
    where: Annotated[
        str | None, typer.Option(help="Ask only of words with this property, written as the claim is.", metavar="TEXT")
    ] = None,
    samples: Annotated[str, typer.Option(help="Random words to try at each length beside the proof.")] = "1e5",
    time_limit: Annotated[
        float, typer.Option(help="Seconds for the proof at each length, and as many for its float error.", metavar="S")
    ] = 10.0,
    seed: Annotated[int, typer.Option(help="Draws the random words.", min=0)] = 0,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps verdicts; KEYHOLE_HOME or .keyhole if not given.", metavar="DIR"),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Print the verdict of each length as a line of JSON, as it comes.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the verdicts (.json, .txt) or the figure (.svg, .png, .html).",
            metavar="FILE",
            parser=file_place,
        ),
    ] = None,
) -> None:
    """Prove a claim about a model on every word of each length, or find a word on which it is wrong.

    PROVED holds for all words of that length, with a margin. WRONG INPUT is a word that you can paste into the model.
    UNDECIDED has the best bound found in the time. Verdicts are kept: the same command goes on where it stopped.

    Exit code 0 if no wrong word was found (also undecided), 1 if one was, 2 for bad input.

    Examples:

      keyhole verify ./model --claim majority --lengths 1..50 --read-at SEP

      keyhole verify ./model --claim "even number of a" --alphabet a,b

      keyhole verify maj.safetensors --claim "maj(x0,x1,x2)"
    """
    from keyhole.api.length_verdict import LengthVerdict
    from keyhole.api.verify import Verified, verify
    from keyhole.cli.printing import print_document
    from keyhole.progress import Progress
    from keyhole.show.progress_view import view_progress

    refuse_ignored({"--json": json and rows}, "--rows prints each length as it comes, and the summary last")
    if out is not None:
        Verified.require_ending(out)

    def print_row(progress: Progress) -> None:
        if isinstance(progress.detail, LengthVerdict):
            typer.echo(plain.dumps({"length": progress.detail.record()}))

    try:
        with nullcontext(print_row) if rows else view_progress("reading the model") as watch:
            verified = verify(
                model,
                claim,
                None if length is None else lengths(length),
                alphabet=_listed(alphabet),
                before=_listed(before),
                read_at=read_at,
                read_first=read_first,
                answers=None if answers is None else _listed(answers),
                among=_listed(among),
                where=where,
                samples=count(samples),
                time_limit=time_limit,
                seed=seed,
                store=store,
                watch=watch,
            )
    except KeyboardInterrupt as stop:
        typer.echo(
            "keyhole: interrupted; lengths that are done are kept: the same command goes on from there.", err=True
        )
        raise typer.Exit(INTERRUPTED) from stop
    if rows:
        told = {name: value for name, value in verified.record().items() if name != "lengths"}
        typer.echo(plain.dumps({"verified": told}))
    elif json:
        typer.echo(verified.to_json())
    else:
        print_document(verified.document())
    if out is not None:
        typer.echo(f"wrote {verified.save(out)}", err=True)
    if verified.shortest_wrong is not None:
        raise typer.Exit(1)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []
