"""What do a checkpoint's heads do on data? Every head's spread, range and sinks, a verdict each, beside controls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.head_data import Data, head_data, require_head
from keyhole.apps.heads.head_statistics import RULE, USE, VERDICTS, HeadUse, filled, head_use, word_maps
from keyhole.apps.heads.model_source import Source, open_checkpoint
from keyhole.apps.heads.transformers_maps import REDRAWN, OutsideModel, Runs, redrawn
from keyhole.checkpoints import Sizes, prepare
from keyhole.decimals import counted
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.files.record import hidden
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show

COUNTING = "layers and heads count from 0 in arrays and JSON, from 1 in text and figures; layer-head is written 3-7"
DRAWN = "entropy"  # the statistic of the figure
LONGEST_DRAWN = 1024  # tokens of a map that is shown
MOST_CELLS = 128  # along each side of a drawing; longer inputs are drawn in blocks of neighbouring rows
COLUMNS = (  # heading, with sinks or without, statistic, meaning
    ("H/log n", "with_sinks", "entropy", "entropy of the attention over that of uniform attention"),
    ("sink", "with_sinks", "sink", "attention on sinks"),
    ("H/log n *", "without_sinks", "entropy", "the same without sinks, as all columns after it"),
    ("e^H", "without_sinks", "support", "effective number of tokens attended to"),
    ("max", "without_sinks", "largest", "largest weight"),
    ("self", "without_sinks", "self", "attention on the token itself"),
    ("prev", "without_sinks", "previous", "attention on the token before"),
    ("next", "without_sinks", "next", "attention on the token after"),
)
Spread = tuple[float | None, float | None, float | None]  # mean, 5 % and 95 % quantile over inputs
Statistics = Mapping[str, Spread]


@dataclass(frozen=True, eq=False)
class HeadMap:
    """One head's attention on one input, by the spellings of its rows."""

    layer: int
    head: int
    rows: tuple[str, ...]
    weights: np.ndarray  # (T, T): row t is what t attends to
    grid: tuple[int, int] | None = None  # of an image: its patches down and across, which are the last rows


@dataclass(frozen=True)
class MeasuredWeights:
    """The statistics of one head with one set of weights: with all keys, and with the sinks taken out."""

    with_sinks: Statistics
    without_sinks: Statistics


@dataclass(frozen=True)
class MeasuredHead(MeasuredWeights):
    """One head by its layer and number from 0: verdicts, statistics, and those of the controls."""

    layer: int
    head: int
    verdict: str
    verdict_without_sinks: str
    controls: Mapping[str, MeasuredWeights]


@dataclass(frozen=True, repr=False, eq=False)
class Heads(Result):
    """What every head of a checkpoint does on data, beside the same model with shuffled and with random weights."""

    schema: ClassVar[str] = "heads/1"
    properties: ClassVar[tuple[str, ...]] = ("counting", "statistics", "rule")
    counting: ClassVar[str] = COUNTING
    statistics: ClassVar[Mapping[str, str]] = USE
    rule: ClassVar[str] = RULE

    source: str
    architecture: str
    sizes: Sizes
    data: str  # what the inputs were
    inputs: int
    rows: tuple[int, int]  # of the shortest and of the longest input
    sinks: str  # which rows count as sinks
    queries: str
    heads: tuple[MeasuredHead, ...]
    counts: Mapping[str, Mapping[str, int]]  # weights → verdict → heads
    control_is: Mapping[str, str]
    seed: int
    map: HeadMap | None = None
    uses: Mapping[str, HeadUse] = hidden(default_factory=dict)  # weights → the statistics of every input

    def lines(self, show: Show) -> None:
        """Count the verdicts beside the controls; the verbose text adds what was measured, and a row per head."""
        shares = sorted(self.counts["trained"].items(), key=lambda share: -share[1])
        verdicts = ", ".join(f"{count} {name}" for name, count in shares if count)
        show.line(f"{counted(len(self.heads), 'head')}: {verdicts}")
        show.table(
            {"weights": "<", **dict.fromkeys(VERDICTS, ">")},
            [(kind, *(str(count[name]) for name in VERDICTS)) for kind, count in self.counts.items()],
        )
        layers, heads = counted(self.sizes.layers, "layer"), counted(self.sizes.heads, "head")
        show.line(f"model: {self.source} ({self.architecture}), {layers} of {heads}; {self.data}")
        if not show.verbose:
            return
        least, most = self.rows
        show.facts(
            [
                (
                    "inputs",
                    f"{least if least == most else f'{least} to {most}'} rows each (a row: a token, a patch or [CLS])",
                ),
                ("queries", f"{self.queries}; a model that answers at one row alone may attend otherwise from there"),
                ("sinks", self.sinks),
                ("rule", RULE),
                *self.control_is.items(),
                *((heading, meaning) for heading, _, _, meaning in COLUMNS),
            ]
        )
        show.line("Heads are layer-head, from 1. sink/sparse: a sink, and sparse once sinks are taken out.")
        show.table(
            {"head": "<", "verdict": "<", **dict.fromkeys((heading for heading, *_ in COLUMNS), ">")},
            [
                (
                    f"{head.layer + 1}-{head.head + 1}",
                    "/".join(dict.fromkeys((head.verdict, head.verdict_without_sinks))),
                    *(_short(getattr(head, where)[name][0]) for _, where, name, _ in COLUMNS),
                )
                for head in self.heads
            ],
        )

    def figure(self) -> Figure:
        """Draw layers × heads coloured by the entropy, or the attention of the head that was asked for."""
        return self._grid() if self.map is None else _drawn(self.map)

    def _grid(self) -> Figure:
        rows: list[Row] = []
        for kind in self.counts:
            for head in self.heads:
                measured = head if kind == "trained" else head.controls[kind]
                rows.append(
                    {
                        "layer": str(head.layer + 1),
                        "head": str(head.head + 1) if kind == "trained" else f"{kind} {head.head + 1}",
                        "weights": kind,
                        DRAWN: measured.without_sinks[DRAWN][0],
                        "verdict": head.verdict if kind == "trained" else "",
                    }
                )
        return Figure(
            title=f"{USE[DRAWN]}, sinks taken out, head by head",
            subtitle=f"{self.data}; layers and heads count from 1",
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("head", "head", "category"),
            y=Axis("layer", "layer", "category"),
            colour=Axis(DRAWN, USE[DRAWN]),
        )


def _drawn(attention: HeadMap) -> Figure:
    names = [f"{number} {name}" for number, name in enumerate(attention.rows, 1)]
    each = -(-len(names) // MOST_CELLS)
    weights = attention.weights
    subtitle = "each row's weights have the sum 1; layers, heads and rows count from 1"
    if each > 1:
        weights = word_maps(weights[None], np.arange(len(names)) // each)[0]
        names = [f"{name} …" for name in names[::each]]
        subtitle += f"; blocks of {each} rows, summed over those attended to, averaged over those that attend"
    rows: list[Row] = [
        {"from": names[at], "to": names[to], "weight": float(weights[at, to])}
        for at in range(len(names))
        for to in range(len(names))
    ]
    return Figure(
        title=f"attention of head {attention.layer + 1}-{attention.head + 1}",
        subtitle=subtitle,
        kind="heatmap",
        rows=tuple(rows),
        x=Axis("to", "attends to", "category"),
        y=Axis("from", "row", "category"),
        colour=Axis("weight", "weight"),
    )


def heads(
    source: Source | OutsideModel,
    data: Data,
    *,
    head: tuple[int, int] | None = None,
    first_query: bool = False,
    controls: bool = True,
    seed: int = 0,
    watch: Watch = ignore,
) -> Heads:
    """Measure every head of a checkpoint on text, on images, or on rows of numbers.

    Text is a sequence, and rows are one if the model has positions; patches of an image are not. Sinks are the tokens
    that the tokenizer adds, the [CLS] row of an image, and the first row of a causal model. With `first_query` the
    first row is the only query, as in a model that is read at [CLS]. `head` (layer and head, from 0) adds its attention
    on the first input. The maps are those of our own forward pass, in single precision; an `OutsideModel` is run by
    transformers, on text, beside one control.
    """
    model = source if isinstance(source, OutsideModel) else prepare(open_checkpoint(source), single=True)
    control_is = ({"random": REDRAWN} if isinstance(model, OutsideModel) else CONTROLS) if controls else {}
    require_head(head, model.checkpoint.sizes)
    inputs = head_data(model, data)
    inputs = inputs.first_alone() if first_query else inputs
    if head is not None and inputs.lengths[0] > LONGEST_DRAWN:
        raise ArgumentError(
            f"The first input has {inputs.lengths[0]} rows, and maps of up to {LONGEST_DRAWN} are drawn."
        )
    count, of = len(inputs.lengths), len(inputs.lengths) * (1 + len(control_is))
    uses = {}
    for number, name in enumerate(("trained", *control_is)):
        view = part_of(watch, name, number * count, of)
        run: Runs = model
        if name != "trained":
            run = redrawn(model, seed) if isinstance(model, OutsideModel) else controlled(model, name, seed)
        uses[name] = head_use(run, inputs.lengths, inputs.give, ordered=inputs.ordered, watch=view)
    verdicts = {name: [verdict for row in use.verdicts() for verdict, _ in row] for name, use in uses.items()}
    weights = {kind: _weights(use) for kind, use in uses.items()}
    trained, judged = weights.pop("trained"), uses["trained"].verdicts()
    measured = [
        MeasuredHead(
            **vars(trained[at]),
            layer=at[0],
            head=at[1],
            verdict=judged[at[0]][at[1]][0],
            verdict_without_sinks=judged[at[0]][at[1]][1],
            controls={kind: control[at] for kind, control in weights.items()},
        )
        for at in trained
    ]
    drawn = None
    if head is not None:
        kept: list[np.ndarray] = []

        def look(layer: int, maps: np.ndarray) -> None:
            if layer == head[0]:
                kept.append(maps[0, head[1]].astype(np.float64))

        model.run(*filled([inputs.give(0).rows]), look)
        drawn = HeadMap(*head, inputs.spell(0), kept[0], inputs.grid)
    return Heads(
        source=model.checkpoint.source,
        architecture=model.checkpoint.architecture,
        sizes=model.checkpoint.sizes,
        data=inputs.what,
        inputs=count,
        rows=(min(inputs.lengths), max(inputs.lengths)),
        sinks=inputs.sinks,
        queries="the first row alone" if first_query else "every row",
        heads=tuple(measured),
        counts={name: {each: found.count(each) for each in VERDICTS} for name, found in verdicts.items()},
        control_is=control_is,
        seed=seed,
        map=drawn,
        uses=uses,
    )


def _weights(use: HeadUse) -> dict[tuple[int, int], MeasuredWeights]:
    """Return the statistics of every head; None stands for a number that no input has."""
    tables = [
        {name: np.stack([use.mean(name, sinks=sinks), *use.spread(name, sinks=sinks)], axis=-1) for name in USE}
        for sinks in (True, False)
    ]

    def of(at: tuple[int, int], named: Mapping[str, np.ndarray]) -> Statistics:
        spreads = {
            name: [None if np.isnan(each) else float(each) for each in table[at]] for name, table in named.items()
        }
        return {name: (mean, low, high) for name, (mean, low, high) in spreads.items()}

    return {
        (layer, head): MeasuredWeights(*(of((layer, head), named) for named in tables))
        for layer, head in np.ndindex(use.kept.shape[1:3])
    }


def part_of(watch: Watch, name: str, before: int, of: int) -> Watch:
    """Return a watcher of one of several passes: `before` steps were done when it begins, `of` are all."""
    return lambda step: watch(Progress(before + step.done, of, f"{name}: {step.what}"))


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
