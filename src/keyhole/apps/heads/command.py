"""`keyhole heads`: what the heads of a checkpoint do on text, images or rows of numbers."""

import re
from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import refuse_ignored
from keyhole.errors import ArgumentError

EXAMPLES = """
Examples:

  keyhole heads minilm --text sentences.txt

  keyhole heads ./my-bert --text a.txt --statistic sink --out heads.svg

  keyhole heads minilm --text a.txt --head 3-7 --line 2 --out map.png

  keyhole heads minilm --conllu dev.conllu --test test.conllu

  keyhole heads tsp.pt --rows points.npy --nearest

  keyhole heads vit.pt --images digits/ --config vit.json --json

  keyhole heads minilm --text long.txt --estimator --head 3-7
"""


def heads_command(
    source: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A folder with config.json and weights, a file, or minilm.")
    ],
    *,
    text: Annotated[Path | None, typer.Option(help="A file with a text on every line.", metavar="FILE")] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="A folder of pictures or .npy files; or an array as .npy or .npz.", metavar="PLACE"),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows (inputs, T, features), or tokens (inputs, T), as .npy or .npz.", metavar="FILE"),
    ] = None,
    conllu: Annotated[
        Path | None, typer.Option(help="A treebank: each relation's head is chosen here.", metavar="DEV")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="The treebank on which it is scored.", metavar="TEST")] = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="With --rows: which head finds the nearest other point.")
    ] = False,
    estimator: Annotated[
        bool, typer.Option("--estimator", help="Which estimator of its values each head, or --head, is.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="A JSON file of settings that the checkpoint's own files lack.", metavar="FILE")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(help="Its family, such as bert or gpt2; else it is recognised.")
    ] = None,
    through: Annotated[
        str, typer.Option(help="What runs the model: keyhole, or transformers (text; other families).")
    ] = "keyhole",
    longest: Annotated[int, typer.Option(help="Tokens of one input; longer texts are cut.", min=8, max=4096)] = 128,
    queries: Annotated[str, typer.Option(help="all rows, or the first alone (a model read at [CLS]).")] = "all",
    statistic: Annotated[
        str, typer.Option(help="What the figure shows: entropy, support, largest, sink, previous, …")
    ] = "entropy",
    head: Annotated[
        str | None, typer.Option(help="Draw this head's attention instead, as layer-head from 1.", metavar="L-H")
    ] = None,
    line: Annotated[int, typer.Option(help="On which input, from 1.", min=1)] = 1,
    controls: Annotated[bool, typer.Option(help="Run the model with shuffled and with random weights too.")] = True,
    seed: Annotated[int, typer.Option(help="Draws the controls.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the answer as .json or .txt, or the figure as .svg, .png, .html, .csv.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """What the heads of a checkpoint do on data.

    Whether each is sparse, local, a sink, broad or near-uniform, beside two controls.

    Entropy, effective support, largest weight, distance from uniform, weight on neighbours and on sinks, with sinks and
    without. With --conllu and --test instead: which head finds each relation of a treebank, chosen on one and scored on
    the other, beside the best fixed offset and the controls. With --estimator: which kernel estimator of its values
    fits each head's queries, keys and values, at which bandwidth, beside the head itself and the controls.

    Layers and heads are written layer-head, from 1; JSON counts from 0. Text needs keyhole[hf].
    """
    from keyhole.apps.heads.estimator import HeadEstimator, head_estimator
    from keyhole.apps.heads.head_annotation import HeadsAnnotation, heads_annotation, heads_nearest
    from keyhole.apps.heads.heads import Heads, heads
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    against = conllu is not None or nearest
    ignored = {
        "--conllu": estimator and conllu is not None, "--nearest": nearest and (estimator or conllu is not None),
        "--text": against and text is not None, "--images": against and images is not None,
        "--head": against and head is not None, "--rows": conllu is not None and rows is not None,
        "--no-controls": against and not controls, "--queries": (against or estimator) and queries != "all",
        "--statistic": (against or estimator) and statistic != "entropy", "--line": estimator and line != 1,
        "--through": (against or estimator) and through != "keyhole",
    }  # fmt: skip
    refuse_ignored(ignored, "heads are asked as estimators" if estimator else "heads are set against a relation")
    _require_whole(conllu, test, rows, nearest=nearest)
    if out is not None:
        (HeadEstimator if estimator else HeadsAnnotation if against else Heads).require_ending(out)
    answer: Heads | HeadsAnnotation | HeadEstimator
    with view_progress("heads") as watch:
        if estimator:
            answer = head_estimator(
                source,
                text=text,
                images=images,
                rows=rows,
                config=config,
                architecture=architecture,
                head=None if head is None else layer_head(head),
                longest=longest,
                controls=controls,
                seed=seed,
                watch=watch,
            )
        elif conllu is not None and test is not None:
            answer = heads_annotation(
                source,
                chosen_on=conllu,
                scored_on=test,
                config=config,
                architecture=architecture,
                longest=longest,
                seed=seed,
                watch=watch,
            )
        elif nearest and rows is not None:
            answer = heads_nearest(source, rows=rows, config=config, architecture=architecture, seed=seed, watch=watch)
        else:
            answer = heads(
                source,
                text=text,
                images=images,
                rows=rows,
                config=config,
                architecture=architecture,
                longest=longest,
                queries=queries,
                statistic=statistic,
                head=None if head is None else layer_head(head),
                line=line,
                controls=controls,
                seed=seed,
                through=through,
                watch=watch,
            )
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)


def _require_whole(conllu: Path | None, test: Path | None, rows: Path | None, *, nearest: bool) -> None:
    """Refuse one treebank without the other, and a question about points without points."""
    if (conllu is None) != (test is None):
        raise ArgumentError("A head is chosen on one treebank and scored on another; give both --conllu and --test.")
    if nearest and rows is None:
        raise ArgumentError("--nearest was given without points; give them by --rows.")


def layer_head(text: str) -> tuple[int, int]:
    """A head as it is written, counted from 1, by its numbers from 0.

    >>> layer_head("3-7")
    (2, 6)
    """
    match = re.fullmatch(r"([1-9]\d{0,3})-([1-9]\d{0,3})", text)
    if match is None:
        raise ArgumentError(f"The head {text!r} was asked for; write layer-head, counted from 1, such as 3-7.")
    return int(match[1]) - 1, int(match[2]) - 1


heads_command.__doc__ = f"{cleandoc(heads_command.__doc__ or '')}\n{EXAMPLES}"
