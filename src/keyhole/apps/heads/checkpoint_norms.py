"""What are the norms of a checkpoint's heads? Every head beside two controls, shares in a bound, drift in a series."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import floor, isfinite, log10
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.api.opening import open_checkpoint, settings_of
from keyhole.apps.heads.norms import STATISTICS, HeadNormSet, distances, head_norms
from keyhole.apps.heads.show_checkpoint_norms import checkpoint_norms_document
from keyhole.apps.heads.stand_in import STAND_IN, stand_in_profile
from keyhole.bounds import DEEP, Real, failure, guarantee, kept_share, sample_size
from keyhole.checkpoints import Architecture, Checkpoint
from keyhole.decimals import at_most, brief
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Watch, ignore
from keyhole.show.document import Document

HEAD_NAMES = ("num_attention_heads", "n_head", "n_heads", "num_heads", "nhead", "heads")  # as configurations have it
COUNTING = "layers and heads count from 0 in arrays and JSON, from 1 in text and figures"
KINDS = ("trained", "random", "shuffled")
MOST = 300  # powers of ten of samples that are looked at


@dataclass(frozen=True)
class StandInBound:
    """The deep bound of the stand-in: its value, how many powers of ten of samples are wanting, each layer's share."""

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
        """What it says, plainly."""
        if not self.vacuous:
            return f"gap ≤ {at_most(self.value)} at m = {brief(self.samples)}"
        if self.orders is None:
            return f"vacuous by more than 10^{MOST}: no number of samples up to 10^{MOST} makes it say anything"
        power = floor(self.orders)
        return f"vacuous by 10^{power}: it says nothing below 10^{power} times the {brief(self.samples)} samples given"


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
    has_figure: ClassVar[bool] = True

    checkpoint: Checkpoint
    heads: HeadNormSet
    bound: StandInBound | None
    no_bound: str  # why there is none
    statistic: str  # that the figure shows
    seed: int
    series: tuple[Moment, ...] = field(default=())

    @property
    def summary(self) -> str:
        """Whose norms, and the largest."""
        largest = max(self.heads.trained, key=lambda head: head["qk-spectral"])
        return (
            f"{len(self.heads.trained)} heads of {self.checkpoint.source} ({self.checkpoint.architecture}); the largest"
            f" ‖W_QK‖₂ is {largest['qk-spectral']:.3g}, of head {largest.layer + 1}-{largest.head + 1}"
        )

    def document(self) -> Document:
        """The model, a table per matrix with both controls, the bound's shares, the series, what is not covered."""
        return checkpoint_norms_document(self.record())

    def figure(self) -> Figure:
        """Layers × heads coloured by the statistic, both controls beside; of a series, a line per layer."""
        return self._series_figure() if self.series else self._grid_figure()

    def _grid_figure(self) -> Figure:
        rows: list[Row] = [
            {
                "layer": str(head.layer + 1),
                "head": str(head.head + 1) if kind == "trained" else f"{kind} {head.head + 1}",
                "weights": kind,
                self.statistic: head[self.statistic],
            }
            for kind in KINDS
            for head in getattr(self.heads, kind)
        ]
        drawn = f"normal weights of deviation {self.heads.deviation:g}"
        return Figure(
            title=f"{STATISTICS[self.statistic]}, head by head",
            subtitle=f"left: trained; middle: {drawn}; right: entries shuffled; layers and heads count from 1",
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("head", "head", "category"),
            y=Axis("layer", "layer", "category"),
            colour=Axis(self.statistic, STATISTICS[self.statistic]),
        )

    def _series_figure(self) -> Figure:
        layers = [str(index + 1) for index in self.checkpoint.distinct_layers]
        rows: list[Row] = [
            {"checkpoint": number, "layer": layer, self.statistic: value, "source": moment.source}
            for number, moment in enumerate(self.series, 1)
            for layer, value in zip(layers, moment.medians[self.statistic], strict=True)
        ]
        return Figure(
            title=f"{STATISTICS[self.statistic]}, median over the heads of a layer",
            subtitle=f"{len(self.series)} checkpoints in the order given; layers count from 1",
            kind="lines",
            rows=tuple(rows),
            x=Axis("checkpoint", "checkpoint"),
            y=Axis(self.statistic, STATISTICS[self.statistic]),
            colour=Axis("layer", "layer", "category"),
        )

    def record(self) -> dict[str, Any]:
        """Every head, both controls, and the rest as plain values."""
        checkpoint = self.checkpoint
        sets = (self.heads.trained, self.heads.random, self.heads.shuffled)
        return {
            "source": checkpoint.source,
            "architecture": checkpoint.architecture,
            "sizes": asdict(checkpoint.sizes),
            "number_formats": list(checkpoint.number_formats),
            "counting": COUNTING,
            "distinct_layers": list(checkpoint.distinct_layers),
            "statistics": dict(STATISTICS),
            "random_deviation": self.heads.deviation,
            "seed": self.seed,
            "heads": [
                {
                    "layer": heads[0].layer,
                    "head": heads[0].head,
                    **{
                        kind: {name: head[name] for name in STATISTICS} for kind, head in zip(KINDS, heads, strict=True)
                    },
                }
                for heads in zip(*sets, strict=True)
            ],
            "stand_in": None if self.bound is None else {**asdict(self.bound), "sentence": self.bound.sentence},
            "stand_in_is": STAND_IN if self.bound is not None else self.no_bound,
            "not_covered": [asdict(each) for each in checkpoint.not_covered],
            "unused": [asdict(each) for each in checkpoint.unused],
            "series": [asdict(moment) for moment in self.series],
        }


def checkpoint_norms(
    source: str | Path | Mapping[str, Any],
    *later: str | Path | Mapping[str, Any],
    architecture: Architecture | str | None = None,
    heads: int | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    samples: Real = 1e6,
    context: int = 128,
    statistic: str = "qk-spectral",
    seed: int = 0,
    watch: Watch = ignore,
) -> CheckpointNorms:
    """The norms of W_QK and W_OV of every head of a local checkpoint, or of a packaged model such as minilm.

    With several sources they are one model at several times, and the answer has their drift. `heads` gives the number
    of heads where no file says it, and `config` any settings, or a JSON file of them; `samples` and `context` are those
    of the bound whose shares are told; `statistic` is what the figure shows.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> arrays = {f"blocks.0.attn.W_{name}": rng.normal(size=(2, 4, 3)) for name in "QKV"}
    >>> answer = checkpoint_norms(arrays | {"blocks.0.attn.W_O": rng.normal(size=(2, 3, 4))})
    >>> head = answer.heads.trained[1]
    >>> M = arrays["blocks.0.attn.W_K"][1] @ arrays["blocks.0.attn.W_Q"][1].T / np.sqrt(3)
    >>> bool(np.isclose(head["qk-spectral"], np.linalg.norm(M, 2)))
    True
    """
    if statistic not in STATISTICS:
        raise ArgumentError(f"There is no statistic {statistic!r}; the names are {', '.join(STATISTICS)}.")
    if context < 1:
        raise ArgumentError(f"A context has at least one position; got {context}.")
    if seed < 0:
        raise ArgumentError(f"The seed {seed} was given; a seed is at least 0.")
    if heads is not None and heads < 1:
        raise ArgumentError(f"A model has at least one head; got {heads}.")
    settings = {**(settings_of(config) or {}), **({} if heads is None else dict.fromkeys(HEAD_NAMES, heads))}
    opened = [open_checkpoint(each, architecture=architecture, config=settings) for each in (source, *later)]
    first = opened[0]
    norms = head_norms(first, seed=seed, watch=watch)
    bound, why = None, ""
    try:
        bound = stand_in_bound(first, norms, samples, context)
    except AssumptionError as refusal:
        why = str(refusal)
    series = _series(opened, norms, watch) if later else ()
    return CheckpointNorms(first, norms, bound, why, statistic, seed, series)


def stand_in_bound(
    checkpoint: Checkpoint,
    found: HeadNormSet,
    samples: Real,
    context: int,
    delta: Real = 0.01,
    accepted: Real | None = None,
) -> StandInBound:
    """Theorem D for the stand-in, by how much it is vacuous, and the share of each layer in its capacity.

    The norms count as if they had been fixed beforehand; to have looked at them costs more, so `orders` is the least
    that is wanting. Where training sets were redrawn and kept with probability `accepted`, every number is computed at
    δ·accepted, and promised of kept sets at δ.
    """
    m, promised = sample_size(samples), failure(delta)
    spent = promised * kept_share(accepted)
    profile = stand_in_profile(checkpoint, found.trained, context + 1)
    stated = guarantee(DEEP, profile, m, delta=promised, spent=spent)
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
    return StandInBound(m, context, promised, spent, stated.value, stated.vacuous, orders, tuple(shares))


def _series(opened: Sequence[Checkpoint], first: HeadNormSet, watch: Watch) -> tuple[Moment, ...]:
    """Each checkpoint's medians per layer, and how far its heads are from the first one's."""
    moments = []
    for checkpoint in opened:
        norms = first if checkpoint is opened[0] else head_norms(checkpoint, watch=watch)
        moved = distances(opened[0], checkpoint)
        layers = checkpoint.distinct_layers
        medians = {
            name: tuple(median(head[name] for head in norms.trained if head.layer == layer) for layer in layers)
            for name in STATISTICS
        }
        shares = [
            tuple(median(each[which] for each in moved if each[0] == layer) for layer in layers) for which in (2, 3)
        ]
        moments.append(Moment(checkpoint.source, medians, shares[0], shares[1]))
    return tuple(moments)
