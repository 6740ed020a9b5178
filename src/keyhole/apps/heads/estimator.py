"""Is a head an estimator? Its queries, keys and values beside smoothers and conditional means, on data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.api.opening import Source, open_checkpoint
from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.head_data import HeadData, head_data, require_one_kind
from keyhole.apps.heads.heads import COUNTING
from keyhole.apps.heads.show_head_estimator import head_estimator_document
from keyhole.checkpoints import Architecture, Checkpoint, Prepared, prepare
from keyhole.errors import ArgumentError, AssumptionError, DataError
from keyhole.figure import Axis, Figure, Row
from keyhole.latent.inference import Diagnosis, diagnose_head
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document

LEAST = 16  # rows of an input: half of them choose the settings, half judge
MOST_INPUTS = 8
FAMILIES = (
    "mean of the values",
    "softmax",
    "conditional mean, exponential kernel",
    "conditional mean, Gaussian kernel",
)
RULE = (
    "A head's rows are data: pairs of a key and a value. Half of an input's rows choose each estimator's bandwidth and "
    "ridge, by leaving one out; the other half's values are predicted at their keys. The family is the one with the "
    "least unexplained share of the values' spread, on average over inputs; none, where on most inputs no fit beats "
    "the mean of the values by two standard errors."
)


@dataclass(frozen=True)
class EstimatedHead:
    """One head, averages over inputs: which family fits best, and what it and the head itself leave unexplained."""

    layer: int
    head: int
    family: str  # "none" where keys do not tell of values
    inputs: int  # on which it could be asked
    informative: int  # on how many of them some fit beats the mean of the values
    bandwidth: float | None  # γ over the head's own, the median over inputs
    on_edge: int  # on how many inputs a setting chosen is at the end of its grid
    unexplained: Mapping[str, float]  # family → share of the spread of held-out values
    own: float  # the same of the head's own softmax
    disagreement: float  # share of the head's outputs that a multiple of the best family's fit misses


@dataclass(frozen=True, repr=False, eq=False)
class HeadEstimator(Result):
    """Every head, or one, as an estimator of its values, beside the same model with shuffled and random weights."""

    schema: ClassVar[str] = "head-estimator/1"
    has_figure: ClassVar[bool] = True

    checkpoint: Checkpoint
    data: str
    heads: tuple[EstimatedHead, ...]
    controls: Mapping[str, tuple[EstimatedHead, ...]]
    left_out: int  # inputs of too few rows
    causal: bool
    seed: int

    @property
    def summary(self) -> str:
        """How many heads have which family."""
        counted = ", ".join(f"{count} {name}" for name, count in _counts(self.heads).items() if count)
        return f"{len(self.heads)} heads of {self.checkpoint.source} as estimators on {self.data}: {counted}"

    def document(self) -> Document:
        """The rule, counts beside the controls, a row per head."""
        return head_estimator_document(self.record())

    def figure(self) -> Figure:
        """Layers × heads coloured by what the best family leaves unexplained."""
        rows: list[Row] = [
            {
                "layer": str(each.layer + 1),
                "head": str(each.head + 1),
                "unexplained": min(each.unexplained.values()),
                "family": each.family,
            }
            for each in self.heads
        ]
        return Figure(
            title="What the best estimator leaves of a head's values",
            subtitle=f"share of the spread of held-out values; {self.data}; layers and heads count from 1",
            kind="heatmap",
            rows=tuple(rows),
            x=Axis("head", "head", "category"),
            y=Axis("layer", "layer", "category"),
            colour=Axis("unexplained", "unexplained share"),
        )

    def record(self) -> dict[str, Any]:
        """Every head as plain values, and the counts of the controls."""
        return {
            "source": self.checkpoint.source,
            "architecture": self.checkpoint.architecture,
            "counting": COUNTING,
            "data": self.data,
            "left_out": self.left_out,
            "least_rows": LEAST,
            "rule": RULE,
            "queries": "the last row alone, which sees all others" if self.causal else "every row",
            "families": list(FAMILIES),
            "heads": [asdict(each) for each in self.heads],
            "counts": {
                "trained": _counts(self.heads),
                **{name: _counts(estimates) for name, estimates in self.controls.items()},
            },
            "control_is": {name: CONTROLS[name] for name in CONTROLS if name in self.controls},
            "seed": self.seed,
        }


def head_estimator(
    source: Source,
    *,
    text: str | Path | Sequence[str] | None = None,
    images: str | Path | np.ndarray | None = None,
    rows: str | Path | np.ndarray | None = None,
    architecture: Architecture | str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    head: tuple[int, int] | None = None,
    longest: int = 128,
    controls: bool = True,
    seed: int = 0,
    watch: Watch = ignore,
) -> HeadEstimator:
    """Which estimator of its values a head is, on the first inputs of data as `heads` takes them.

    Queries, keys and values are those that scores read: with biases, and turned where positions are rotary. `head`
    (layer and head, from 0) asks one alone. That a family fits describes a head's rows, and does not say that the model
    was trained for it; of real data no exact posterior is known.
    """
    require_one_kind(text=text, images=images, rows=rows)
    checkpoint = open_checkpoint(source, architecture=architecture, config=config)
    model = prepare(checkpoint)
    sizes = checkpoint.sizes
    if head is not None and not (0 <= head[0] < sizes.layers and 0 <= head[1] < sizes.heads):
        raise ArgumentError(
            f"Head {head[0] + 1}-{head[1] + 1} was asked for, and there are {sizes.layers} layers of {sizes.heads} "
            "heads, counted from 1."
        )
    data = head_data(model, source, text=text, images=images, rows=rows, longest=longest)
    long = [index for index, length in enumerate(data.lengths) if length >= LEAST]
    if not long:
        raise DataError(f"No input has {LEAST} rows, and a head is asked from so many; give longer ones.")
    asked = [(layer, number) for layer in range(sizes.layers) for number in range(sizes.heads)]
    asked = asked if head is None else [head]
    models: dict[str, Prepared] = {"trained": model}
    models |= {name: controlled(model, name, seed) for name in CONTROLS if controls}
    estimated, done = {}, 0
    for kind, run in models.items():
        kept: dict[tuple[int, int], list[Diagnosis]] = {each: [] for each in asked}
        for index in long[:MOST_INPUTS]:
            _diagnose(run, data, index, kept, seed)
            done += 1
            watch(Progress(done, len(models) * len(long[:MOST_INPUTS]), f"{kind}: inputs"))
        estimated[kind] = tuple(_estimated(*each, kept[each]) for each in asked)
    return HeadEstimator(
        checkpoint=checkpoint,
        data=f"{len(long[:MOST_INPUTS])} of {data.what}",
        heads=estimated.pop("trained"),
        controls=estimated,
        left_out=len(data.lengths) - len(long),
        causal=bool(checkpoint.causal),
        seed=seed,
    )


def _diagnose(
    model: Prepared, data: HeadData, index: int, kept: Mapping[tuple[int, int], list[Diagnosis]], seed: int
) -> None:
    """Every head that is asked, on one input; one whose numbers are beyond what can be fitted is left out there."""
    queries = slice(-1, None) if model.checkpoint.causal else slice(None)

    def inside(layer: int, query: np.ndarray, key: np.ndarray, value: np.ndarray) -> None:
        scale = model.layers[model.checkpoint.layers.stored[layer]].scale
        for (at, number), rows in kept.items():
            if at != layer:
                continue
            rng = np.random.default_rng((seed, index, layer, number))
            parts = (query[0, number, queries], key[0, number], value[0, number])
            try:
                rows.append(diagnose_head(*parts, temperature=1 / scale, rng=rng))
            except AssumptionError:
                continue

    model.run(data.give(index).rows[None], inside=inside)


def _estimated(layer: int, head: int, found: Sequence[Diagnosis]) -> EstimatedHead:
    """Averages over inputs."""
    if not found:
        nothing = dict.fromkeys(FAMILIES, 1.0)
        return EstimatedHead(layer, head, "not asked", 0, 0, None, 0, nothing, 1.0, 1.0)
    unexplained = {
        name: float(np.mean([each.fits[place].unexplained for each in found])) for place, name in enumerate(FAMILIES)
    }
    informative = sum(each.informative for each in found)
    best = min(unexplained, key=lambda name: unexplained[name])
    place = FAMILIES.index(best)
    gammas = [
        gamma / own
        for each in found
        if (gamma := each.fits[place].temperature) is not None and (own := each.own.temperature)
    ]
    return EstimatedHead(
        layer=layer,
        head=head,
        family=best if informative * 2 > len(found) and best != FAMILIES[0] else "none",
        inputs=len(found),
        informative=informative,
        bandwidth=float(np.median(gammas)) if gammas else None,
        on_edge=sum(each.fits[place].on_edge for each in found),
        unexplained=unexplained,
        own=float(np.mean([each.own.unexplained for each in found])),
        disagreement=float(np.mean([each.fits[place].disagreement for each in found])),
    )


def _counts(heads: Sequence[EstimatedHead]) -> dict[str, int]:
    names = (*FAMILIES[1:], "none", "not asked")
    return {name: sum(each.family == name for each in heads) for name in names}
