"""Is a head an estimator? Its queries, keys and values beside smoothers and conditional means, on data."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.diagnosis import Diagnosis, diagnose_head
from keyhole.apps.heads.head_data import Data, head_data, require_head
from keyhole.apps.heads.heads import COUNTING
from keyhole.apps.heads.model_source import Source, open_checkpoint
from keyhole.checkpoints import prepare
from keyhole.decimals import counted
from keyhole.errors import AssumptionError, DataError
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show

LEAST = 16  # rows of an input: half of them choose the settings, half judge
MOST_INPUTS = 8
FAMILIES = (
    "mean of the values",
    "softmax",
    "conditional mean, exponential kernel",
    "conditional mean, Gaussian kernel",
)
FOUND = (*FAMILIES[1:], "none", "not asked")  # of a head
SHORT = dict(zip(FAMILIES, ("mean", "softmax", "exp", "Gauss"), strict=True))
MEANINGS = {
    "says": "inputs on which some fit beats the mean of the values",
    "γ/own": "the bandwidth chosen over the head's own temperature, the median",
    "mean, softmax": "the share of the spread of held-out values that the family leaves",
    "exp, Gauss": "the same of conditional means with the exponential and the Gaussian kernel",
    "itself": "the same of the head at its own temperature",
    "missed": "the share of the head's outputs that a multiple of the best fit misses",
}
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


@dataclass(frozen=True, repr=False)
class HeadEstimator(Result):
    """Every head, or one, as an estimator of its values, beside the same model with shuffled and random weights."""

    schema: ClassVar[str] = "head-estimator/1"
    properties: ClassVar[tuple[str, ...]] = ("counting", "least_rows", "rule", "families")
    counting: ClassVar[str] = COUNTING
    least_rows: ClassVar[int] = LEAST
    rule: ClassVar[str] = RULE
    families: ClassVar[tuple[str, ...]] = FAMILIES

    source: str
    architecture: str
    data: str
    left_out: int  # inputs of too few rows
    queries: str
    heads: tuple[EstimatedHead, ...]
    counts: Mapping[str, Mapping[str, int]]  # weights → family → heads
    control_is: Mapping[str, str]
    seed: int

    def lines(self, show: Show) -> None:
        """Count the families beside the controls; the verbose text adds the rule, and a row per head."""
        names = list(self.counts["trained"])
        families = ", ".join(f"{count} {name}" for name, count in self.counts["trained"].items() if count)
        show.line(f"{counted(len(self.heads), 'head')} by the nearest estimator: {families}")
        show.table(
            {"weights": "<", **dict.fromkeys((SHORT.get(name, name) for name in names), ">")},
            [(kind, *(str(count[name]) for name in names)) for kind, count in self.counts.items()],
        )
        short = f" ({self.left_out} under {LEAST} rows left out)" if self.left_out else ""
        show.line(f"model: {self.source} ({self.architecture}); {self.data}{short}; queries: {self.queries}")
        if len(self.heads) > 1 and not show.verbose:
            return
        show.table(
            {"head": "<", "family": "<", **dict.fromkeys(("says", "γ/own", *SHORT.values(), "itself", "missed"), ">")},
            [
                (
                    f"{each.layer + 1}-{each.head + 1}",
                    SHORT.get(each.family, each.family),
                    f"{each.informative}/{each.inputs}",
                    "–" if each.bandwidth is None else f"{each.bandwidth:.2g}",
                    *(f"{each.unexplained[name]:.2f}" for name in FAMILIES),
                    f"{each.own:.2f}",
                    f"{each.disagreement:.2f}",
                )
                for each in self.heads
            ],
        )
        if show.verbose:
            show.facts([*MEANINGS.items(), ("rule", RULE), *self.control_is.items()])
            show.line(
                "Keys and values are images of the same rows, so a flexible estimator may predict one from the other "
                "in any network: compare the controls. A family that fits describes rows, and explains nothing; of "
                "real data no exact posterior is known."
            )

    def figure(self) -> Figure:
        """Draw layers × heads coloured by the share that the best family leaves unexplained."""
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


def head_estimator(
    source: Source,
    data: Data,
    *,
    head: tuple[int, int] | None = None,
    controls: bool = True,
    seed: int = 0,
    watch: Watch = ignore,
) -> HeadEstimator:
    """Find the estimator of its values that each head, or one (by layer and head, from 0), is nearest to.

    Queries, keys and values are those that scores read: with biases, and turned where positions are rotary. That a
    family fits describes a head's rows, and does not say that the model was trained for it.
    """
    checkpoint = open_checkpoint(source)
    model = prepare(checkpoint)
    sizes = checkpoint.sizes
    require_head(head, sizes)
    inputs = head_data(model, data)
    long = [index for index, length in enumerate(inputs.lengths) if length >= LEAST]
    if not long:
        raise DataError(f"No input has {LEAST} rows, and a head is asked from so many; give longer ones.")
    chosen = [(layer, number) for layer in range(sizes.layers) for number in range(sizes.heads)]
    chosen = chosen if head is None else [head]
    control_is = CONTROLS if controls else {}
    queries = slice(-1, None) if checkpoint.causal else slice(None)
    estimated, done = {}, 0
    for kind in ("trained", *control_is):
        run = model if kind == "trained" else controlled(model, kind, seed)
        kept: dict[tuple[int, int], list[Diagnosis]] = {each: [] for each in chosen}
        for index in long[:MOST_INPUTS]:

            def inside(
                layer: int, query: np.ndarray, key: np.ndarray, value: np.ndarray, index: int = index, kept: Any = kept
            ) -> None:
                scale = model.layers[checkpoint.layers.stored[layer]].attention.scale
                for (at, number), rows in kept.items():
                    if at != layer:
                        continue
                    parts = (query[0, number, queries], key[0, number], value[0, number])
                    rng = np.random.default_rng((seed, index, layer, number))
                    with suppress(AssumptionError):  # numbers that cannot be fitted
                        rows.append(diagnose_head(*parts, temperature=1 / scale, rng=rng))

            run.run(inputs.give(index).rows[None], inside=inside)
            done += 1
            watch(Progress(done, (1 + len(control_is)) * len(long[:MOST_INPUTS]), f"{kind}: inputs"))
        estimated[kind] = tuple(_estimated(*each, kept[each]) for each in chosen)
    return HeadEstimator(
        source=checkpoint.source,
        architecture=checkpoint.architecture,
        data=f"{len(long[:MOST_INPUTS])} of {inputs.what}",
        left_out=len(inputs.lengths) - len(long),
        queries="the last row alone, which sees all others" if checkpoint.causal else "every row",
        heads=estimated["trained"],
        counts={
            kind: {name: sum(head.family == name for head in rows) for name in FOUND}
            for kind, rows in estimated.items()
        },
        control_is=control_is,
        seed=seed,
    )


def _estimated(layer: int, head: int, diagnoses: Sequence[Diagnosis]) -> EstimatedHead:
    """Average over inputs."""
    if not diagnoses:
        nothing = dict.fromkeys(FAMILIES, 1.0)
        return EstimatedHead(layer, head, "not asked", 0, 0, None, 0, nothing, 1.0, 1.0)
    unexplained = {
        name: float(np.mean([each.fits[place].unexplained for each in diagnoses]))
        for place, name in enumerate(FAMILIES)
    }
    informative = sum(each.informative for each in diagnoses)
    best = min(unexplained, key=lambda name: unexplained[name])
    place = FAMILIES.index(best)
    gammas = [
        gamma / own
        for each in diagnoses
        if (gamma := each.fits[place].temperature) is not None and (own := each.own.temperature)
    ]
    return EstimatedHead(
        layer=layer,
        head=head,
        family=best if informative * 2 > len(diagnoses) and best != FAMILIES[0] else "none",
        inputs=len(diagnoses),
        informative=informative,
        bandwidth=float(np.median(gammas)) if gammas else None,
        on_edge=sum(each.fits[place].on_edge for each in diagnoses),
        unexplained=unexplained,
        own=float(np.mean([each.own.unexplained for each in diagnoses])),
        disagreement=float(np.mean([each.fits[place].disagreement for each in diagnoses])),
    )
