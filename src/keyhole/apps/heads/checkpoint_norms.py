"""What are the norms of a checkpoint's heads? Every head beside two controls, shares in a bound, drift in a series."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import floor, isfinite, log10
from statistics import median
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.apps.heads.model_source import Source, open_checkpoint
from keyhole.apps.heads.norms import STATISTICS, HeadNormSet, NotCovered, distances, head_norms, not_covered
from keyhole.apps.heads.stand_in import STAND_IN, stand_in_profile
from keyhole.bounds import DEEP, Real, guarantee, sample_size
from keyhole.checkpoints import Checkpoint, Sizes, Unused
from keyhole.decimals import at_most, brief, counted
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Watch, ignore
from keyhole.show.answer import Show

COUNTING = "layers and heads count from 0 in arrays and JSON, from 1 in text and figures"
KINDS = ("trained", "random", "shuffled")
DELTA = 0.01  # with which the bound may fail
DRAWN = "qk-spectral"  # the statistic of the figure
MOST = 300  # powers of ten of samples that are looked at
MATRICES = {
    "qk": "W_QK, as M = W_K W_Qᵀ/√k: medians over the heads of a layer; columns are of queries, rows of keys",
    "ov": "W_OV = W_V W_O: medians over the heads of a layer; columns are outputs, rows inputs",
}
ROWS: tuple[tuple[str, str, Callable[[Iterable[float]], float]], ...] = (
    ("trained", "trained", median),
    ("  largest", "trained", max),
    ("random", "random", median),
    ("shuffled", "shuffled", median),
)
COLUMNS = {
    "spectral": "spectral",
    "frobenius": "Frobenius",
    "columns": "Σ‖column‖",
    "rows": "Σ‖row‖",
    "rank": "stable rank",
}


@dataclass(frozen=True)
class StandInBound:
    """The deep bound of the stand-in: its value, how many powers of ten of samples are wanting, each layer's share."""

    properties: ClassVar[tuple[str, ...]] = ("sentence",)

    samples: float
    context: int
    delta: float  # promised
    delta_spent: float  # that the value is computed at, no more than is promised
    value: float
    vacuous: bool
    orders: float | None  # log10 of (samples for a gap below the loss's range)/(samples given); None beyond 10^300
    shares: tuple[float, ...]  # of each layer, in order; the read-out has the rest

    @property
    def sentence(self) -> str:
        """Return what it promises."""
        if not self.vacuous:
            return f"gap ≤ {at_most(self.value)} at m = {brief(self.samples)}"
        if self.orders is None:
            return f"vacuous by more than 10^{MOST}: no number of samples up to 10^{MOST} makes it say anything"
        power = floor(self.orders)
        return f"vacuous by 10^{power}: it says nothing below 10^{power} times the {brief(self.samples)} samples given"


@dataclass(frozen=True)
class NormedHead:
    """The statistics of one head, by its layer and number from 0, as trained and with both controls."""

    layer: int
    head: int
    trained: Mapping[str, float]
    random: Mapping[str, float]
    shuffled: Mapping[str, float]


@dataclass(frozen=True)
class Moment:
    """One checkpoint of a series: the medians over a layer's heads, and how far they moved from the first."""

    source: str
    medians: Mapping[str, tuple[float, ...]]  # statistic → a number per layer
    moved_score: tuple[float, ...]  # median of ‖M − M₀‖_F/‖M₀‖_F per layer
    moved_value: tuple[float, ...]  # the same of W_OV


@dataclass(frozen=True, repr=False)
class CheckpointNorms(Result):
    """The norms of all heads of a checkpoint, beside random weights of the same shape and the same weights shuffled."""

    schema: ClassVar[str] = "checkpoint-norms/1"
    properties: ClassVar[tuple[str, ...]] = ("counting", "statistics")
    counting: ClassVar[str] = COUNTING
    statistics: ClassVar[Mapping[str, str]] = STATISTICS

    source: str
    architecture: str
    sizes: Sizes
    number_formats: tuple[str, ...]
    distinct_layers: tuple[int, ...]
    random_deviation: float
    seed: int
    heads: tuple[NormedHead, ...]
    stand_in: StandInBound | None
    stand_in_is: str  # or why there is none
    not_covered: tuple[NotCovered, ...]
    unused: tuple[Unused, ...]
    series: tuple[Moment, ...] = ()

    def lines(self, show: Show) -> None:
        """Set a row per layer, or per checkpoint of a series; the verbose text has every norm and control."""
        sizes = self.sizes
        shared = (
            f" ({counted(len(self.distinct_layers), 'set')} of weights)"
            if len(self.distinct_layers) < sizes.layers
            else ""
        )
        groups = f" on {sizes.key_value_heads} keys and values" if sizes.key_value_heads < sizes.heads else ""
        show.line(
            f"{self.source} ({self.architecture}): {sizes.layers} layers{shared}, {sizes.heads} heads{groups}, "
            f"d = {sizes.width}, k = {sizes.head_width}, {', '.join(self.number_formats)}"
        )
        if self.series:
            self._series_table(show)
        else:
            self._layer_table(show)
        if self.stand_in is None:
            show.line(f"In a norm bound: none. {self.stand_in_is}")
        else:
            show.line(f"Norm bound of a stand-in (Theorem D): {self.stand_in.sentence}.")
        show.line(f"Not covered: {', '.join(each.what for each in self.not_covered) or 'nothing'}.")
        if show.verbose:
            self._every_norm(show)

    def _layer_table(self, show: Show) -> None:
        show.table(
            dict.fromkeys(("layer", "‖W_QK‖₂", "random", "shuffled", "largest", "‖W_OV‖₂", "share"), ">"),
            [
                (
                    str(layer + 1),
                    *(_short(median(self._of(layer, kind, DRAWN))) for kind in KINDS),
                    _short(max(self._of(layer, "trained", DRAWN))),
                    _short(median(self._of(layer, "trained", "ov-spectral"))),
                    "–" if self.stand_in is None else _percent(self.stand_in.shares[layer]),
                )
                for layer in self.distinct_layers
            ],
        )
        show.line(
            "Medians over the heads of a layer; share: of the layer in the sum that is cubed to the bound's capacity."
        )

    def _series_table(self, show: Show) -> None:
        show.table(
            {"checkpoint": "<", "‖W_QK‖₂": ">", "‖W_OV‖₂": ">", "W_QK moved": ">", "W_OV moved": ">"},
            [
                (
                    moment.source,
                    _short(median(moment.medians[DRAWN])),
                    _short(median(moment.medians["ov-spectral"])),
                    f"{100 * median(moment.moved_score):.1f} %",
                    f"{100 * median(moment.moved_value):.1f} %",
                )
                for moment in self.series
            ],
        )
        show.line("Medians over layers of medians over heads; moved: ‖W − W₁‖_F/‖W₁‖_F from the first checkpoint.")

    def _every_norm(self, show: Show) -> None:
        for matrix, meaning in MATRICES.items():
            show.line(meaning)
            show.table(
                {"layer": ">", "weights": "<", **dict.fromkeys(COLUMNS.values(), ">")},
                [
                    (
                        str(layer + 1) if what == "trained" else "",
                        what,
                        *(_short(pick(self._of(layer, kind, f"{matrix}-{name}"))) for name in COLUMNS),
                    )
                    for layer in self.distinct_layers
                    for what, kind, pick in ROWS
                ],
            )
        show.facts(
            [
                ("random", f"normal entries of deviation {self.random_deviation:g}, as before training"),
                ("shuffled", f"entries of each head's W_Q, W_K, W_V, W_O permuted (seed {self.seed})"),
                ("stand-in", self.stand_in_is),
                *((f"not covered: {each.what}", each.reason) for each in self.not_covered),
                *((f"not used: {each.name}", each.reason) for each in self.unused),
            ]
        )

    def _of(self, layer: int, kind: str, statistic: str) -> list[float]:
        return [getattr(head, kind)[statistic] for head in self.heads if head.layer == layer]

    def figure(self) -> Figure:
        """Draw layers × heads coloured by ‖M‖₂, both controls beside; of a series, a line per layer."""
        if self.series:
            return self._series_figure()
        rows: list[Row] = [
            {
                "layer": str(head.layer + 1),
                "head": str(head.head + 1) if kind == "trained" else f"{kind} {head.head + 1}",
                "weights": kind,
                DRAWN: getattr(head, kind)[DRAWN],
            }
            for kind in KINDS
            for head in self.heads
        ]
        drawn = f"normal weights of deviation {self.random_deviation:g}"
        return Figure(
            title=f"{STATISTICS[DRAWN]}, head by head",
            subtitle=f"left: trained; middle: {drawn}; right: entries shuffled; layers and heads count from 1",
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("head", "head", "category"),
            y=Axis("layer", "layer", "category"),
            colour=Axis(DRAWN, STATISTICS[DRAWN]),
        )

    def _series_figure(self) -> Figure:
        layers = [str(index + 1) for index in self.distinct_layers]
        rows: list[Row] = [
            {"checkpoint": number, "layer": layer, DRAWN: value, "source": moment.source}
            for number, moment in enumerate(self.series, 1)
            for layer, value in zip(layers, moment.medians[DRAWN], strict=True)
        ]
        return Figure(
            title=f"{STATISTICS[DRAWN]}, median over the heads of a layer",
            subtitle=f"{len(self.series)} checkpoints in the order given; layers count from 1",
            kind="lines",
            rows=tuple(rows),
            x=Axis("checkpoint", "checkpoint"),
            y=Axis(DRAWN, STATISTICS[DRAWN]),
            colour=Axis("layer", "layer", "category"),
        )


def checkpoint_norms(
    source: Source,
    *later: Source,
    samples: Real = 1e6,
    context: int = 128,
    seed: int = 0,
    watch: Watch = ignore,
) -> CheckpointNorms:
    """Measure W_QK and W_OV of every head of a local checkpoint, or of a packaged model such as minilm.

    With several sources they are one model at several times, and the answer has their drift. `samples` and `context`
    are those of the bound whose shares are given.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> arrays = {f"blocks.0.attn.W_{name}": rng.normal(size=(2, 4, 3)) for name in "QKV"}
    >>> answer = checkpoint_norms(arrays | {"blocks.0.attn.W_O": rng.normal(size=(2, 3, 4))})
    >>> M = arrays["blocks.0.attn.W_K"][1] @ arrays["blocks.0.attn.W_Q"][1].T / np.sqrt(3)
    >>> bool(np.isclose(answer.heads[1].trained["qk-spectral"], np.linalg.norm(M, 2)))
    True
    """
    if context < 1:
        raise ArgumentError(f"A context has at least one position; got {context}.")
    m, checkpoints = sample_size(samples), [open_checkpoint(each) for each in (source, *later)]
    first = checkpoints[0]
    norms = head_norms(first, seed=seed, watch=watch)
    moments = []
    for each in checkpoints if later else ():
        measured = norms if each is first else head_norms(each, watch=watch)
        moved, layers = distances(first, each), each.distinct_layers
        medians = {
            name: tuple(median(head[name] for head in measured.trained if head.layer == layer) for layer in layers)
            for name in STATISTICS
        }
        shares = [tuple(median(one[which] for one in moved if one[0] == layer) for layer in layers) for which in (2, 3)]
        moments.append(Moment(each.source, medians, shares[0], shares[1]))
    bound, what = None, STAND_IN
    try:
        bound = _stand_in_bound(first, norms, m, context)
    except AssumptionError as refusal:
        what = str(refusal)
    return CheckpointNorms(
        source=first.source,
        architecture=first.architecture,
        sizes=first.sizes,
        number_formats=first.number_formats,
        distinct_layers=first.distinct_layers,
        random_deviation=norms.deviation,
        seed=seed,
        heads=tuple(
            NormedHead(
                own.layer, own.head, *({name: each[name] for name in STATISTICS} for each in (own, drawn, shuffled))
            )
            for own, drawn, shuffled in zip(norms.trained, norms.random, norms.shuffled, strict=True)
        ),
        stand_in=bound,
        stand_in_is=what,
        not_covered=not_covered(first),
        unused=first.unused,
        series=tuple(moments),
    )


def _stand_in_bound(
    checkpoint: Checkpoint,
    norms: HeadNormSet,
    m: float,
    context: int,
) -> StandInBound:
    """Evaluate Theorem D for the stand-in: by how much it is vacuous, and the share of each layer in its capacity.

    The norms count as if they had been fixed beforehand; to have looked at them costs more, so `orders` is the least
    that is wanting.
    """
    stated = guarantee(DEEP, stand_in_profile(checkpoint, norms.trained, context + 1), m, delta=DELTA)
    capacity = next(step for _, _, step in stated.derivation.walk() if step.name == "capacity C")
    shares = [0.0] * len(checkpoint.layers)
    for part in capacity.parts:
        at = re.search(r"layer (\d+)", part.name)
        if at is not None:
            shares[int(at[1]) - 1] += part.share
    orders = None
    if stated.vacuous:
        low, high = log10(m), float(MOST)
        if isfinite(capacity.value) and not stated.again(samples=10.0**high).vacuous:
            while high - low > 0.01:
                middle = (low + high) / 2
                low, high = (middle, high) if stated.again(samples=10.0**middle).vacuous else (low, middle)
            orders = low - log10(m)
    return StandInBound(m, context, DELTA, DELTA, stated.value, stated.vacuous, orders, tuple(shares))


def _short(value: float) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 else brief(value)


def _percent(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"
