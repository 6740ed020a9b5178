"""Which construction does training find: a violated literal that takes the attention, or an average?

The rule was written before anything was measured. Take a head, and a relevant position that shows the symbol that
decides while the other relevant positions show the other one: the head *vetoes* if on average that position has more
than half of its attention and more than twice as much as any other relevant one. It *averages* if the relevant
positions have more than half of its attention together, each of them within a factor 2 of an equal part whichever
symbol it shows. A model is counted as a veto if one of its heads vetoes, else as an average if one averages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

from keyhole.api.stored_run import law_of
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import FIRST_SEED
from keyhole.apps.ledger.verdict import Share
from keyhole.arrays import Float, UInt8
from keyhole.attention import Tabulated, numbers_of, tabulate
from keyhole.boolean import SymbolLaw
from keyhole.figure import Axis, Figure, Row
from keyhole.papers import EDELMAN_2022
from keyhole.prover.extraction import read_lists
from keyhole.training import SparseTask
from keyhole.training.learners import transformer_with_preset

CLAIM = Claim(
    id="trained-construction",
    title="Training finds the veto: a violated literal takes most of the attention",
    statement=(
        "In most one-layer transformers trained on ANDs a relevant position that shows a 0 while the others show 1 has more than half of "
        "some head's attention, and more than twice that of any other relevant position. The other way, an average of the relevant "
        "positions whichever symbols they show, is rarer. Disjunctions, majorities and layers with a penalised path norm are reported."
    ),
    formula=r"\max_h\ \mathbb{E}\,\alpha_{h,i}(b)>\tfrac12\quad(b_i=0,\ b_j=1\ \text{for } j\in I\setminus\{i\})",
    kind="measurement",
    source="keyhole; the veto is the construction with the least path norm (P_∞ = 1), which no theorem says that training finds",
    prediction=(
        "At m = 400 with the default settings: of the ANDs of 2, 3 and 4 bits that generalise, contexts pooled, more than half veto, by the "
        "whole 95 % interval. Expected besides, and not judged: penalised layers veto in every run, and majorities average."
    ),
    could_fail="A share of vetoes whose 95 % interval lies below ½.",
    papers=(EDELMAN_2022,),
)

Kind = Literal["veto", "average", "neither"]

PRESETS = ("transformer", "transformer:bounded")
DECIDING = {"and:2": (0,), "and:3": (0,), "and:4": (0,), "or:3": (1,), "majority:3": (0, 1)}  # symbols that may decide
JUDGED = ("and:2", "and:3", "and:4")
CONTEXTS: dict[Scale, dict[str, tuple[int, ...]]] = {
    "quick": {"transformer": (25, 100), "transformer:bounded": (100,)},
    "paper": dict.fromkeys(PRESETS, (25, 50, 100, 200, 400)),
}
SAMPLES = 400
SEEDS = {"quick": 4, "paper": 12}
FRESH, SUCCESS = 10_000, 0.99  # a model generalises that answers so many fresh inputs rightly
PROBE = 400  # of these, on which attention is read
MOST, UNEQUAL = 0.5, 2.0


@dataclass(frozen=True)
class Found:
    """One trained model that generalises, and which construction it is."""

    task: str
    preset: str
    context: int
    kind: Kind
    violated: float  # the attention of a position that shows the deciding symbol, in the head where it is largest


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Train every task with every preset, and look at the heads of what generalises."""
    from keyhole.training.network.network import model_of

    heads: list[Found] = []
    picture: Figure | None = None
    every = (  # runs of one compiled program, one after the other
        (preset, *cell)
        for preset in PRESETS
        for cell in product(CONTEXTS[scale][preset], DECIDING, range(SEEDS[scale]))
    )
    for preset, context, task, number in every:
        run = FIRST_SEED * (1 + seed) + number
        learner = transformer_with_preset(_short(preset))
        rng = np.random.default_rng([run, context])
        instance = SparseTask(task).instance(context, rng)
        fitted = learner.fit(instance.size, instance.training_set(SAMPLES, rng), np.random.SeedSequence(run))
        inputs = instance.inputs(FRESH, rng)
        if (fitted.predict(inputs) == instance.truth(inputs)).mean() < SUCCESS:
            continue
        tabulated = tabulate(model_of(learner.settings, fitted.weights or {}))
        places = np.array(instance.function.positions)
        kind, violated = construction(tabulated, places, inputs[:PROBE], DECIDING[task])
        heads.append(Found(task, preset, context, kind, violated))
        if picture is None and preset == PRESETS[-1] and task == "and:3":
            picture = _lists(tabulated, law_of(instance), instance.function, context)
    return conclude(heads, picture)


def construction(
    tabulated: Tabulated, positions: np.ndarray, inputs: UInt8[np.ndarray, "n T"], deciding: Sequence[int]
) -> tuple[Kind, float]:
    """The construction by the rule above, and the attention of a position that shows the deciding symbol."""
    tables = [(numbers_of(head.scores), float(numbers_of(head.cls_score))) for head in tabulated.heads]
    alone = [_alone(*table, positions, inputs, symbol) for table in tables for symbol in deciding]
    violated = max(own for own, _ in alone)
    if any(own > MOST and own > UNEQUAL * other for own, other in alone):
        return "veto", violated
    averaged = any(_averages(*table, positions, inputs) for table in tables)
    return ("average" if averaged else "neither"), violated


def attention(
    scores: Float[np.ndarray, "T A"], own: float, inputs: UInt8[np.ndarray, "n T"]
) -> Float[np.ndarray, "n T"]:
    """Softmax over the positions and [CLS], whose own weight is left out."""
    seen = scores[np.arange(len(scores)), inputs]
    top = np.maximum(seen.max(axis=1, keepdims=True), own)
    mass = np.exp(seen - top)
    weights: np.ndarray = mass / (mass.sum(axis=1, keepdims=True) + np.exp(own - top))
    return weights


def _alone(
    scores: np.ndarray, own: float, positions: np.ndarray, inputs: np.ndarray, symbol: int
) -> tuple[float, float]:
    """Mean attention of the one relevant position that shows the symbol, and the largest of any other one."""
    first, other = [], []
    for place in positions:
        shown = inputs.copy()
        shown[:, positions] = 1 - symbol
        shown[:, place] = symbol
        means = attention(scores, own, shown)[:, positions].mean(axis=0)
        first.append(means[positions == place][0])
        other.append(means[positions != place].max(initial=0.0))
    return float(np.mean(first)), float(np.mean(other))


def _averages(scores: np.ndarray, own: float, positions: np.ndarray, inputs: np.ndarray) -> bool:
    """Return whether a head averages the relevant positions, by the rule above."""
    weights = attention(scores, own, inputs)[:, positions]
    total = float(weights.sum(axis=1).mean())
    part = total / len(positions)
    shown = inputs[:, positions]
    means = [
        float(weights[shown[:, i] == symbol, i].mean())
        for i in range(len(positions))
        for symbol in (0, 1)
        if (shown[:, i] == symbol).any()
    ]
    return total > MOST and all(part / UNEQUAL <= mean <= part * UNEQUAL for mean in means)


def conclude(heads: Sequence[Found], picture: Figure | None = None) -> Outcome:
    """Return how often each construction was found; judged by the ANDs of the default settings."""
    judged, others = ([head for head in heads if head.preset == preset and head.task in JUDGED] for preset in PRESETS)
    share, bounded = (Share(sum(head.kind == "veto" for head in ones), len(ones)) for ones in (judged, others))
    counts = {(preset, task): Counter[Kind]() for preset in PRESETS for task in DECIDING}
    for head in heads:
        counts[head.preset, head.task][head.kind] += 1
    rows: list[dict[str, Any]] = [
        {
            "case": f"{task} {_short(preset)[0].upper()}",
            "share": kinds[kind] / max(1, sum(kinds.values())),
            "kind": kind,
        }
        for (preset, task), kinds in counts.items()
        for kind in ("veto", "average", "neither")
    ]
    contexts = sorted({head.context for head in judged})
    return Outcome(
        verdict=share.most,
        measurement=(
            f"Of {share.runs} ANDs that generalise with the default settings {share.hits} veto; with a penalised path "
            f"norm {bounded.hits} of {bounded.runs}."
        ),
        numbers={
            "ANDs that veto, default": share.value,
            "ANDs that veto, bounded": bounded.value,
            **{
                f"median attention of a violated literal at T = {context}, default": float(
                    np.median([head.violated for head in judged if head.context == context])
                )
                for context in contexts
            },
            **{
                f"{kind}, {task}, {_short(preset)}": float(kinds[kind])
                for (preset, task), kinds in counts.items()
                for kind in ("veto", "average", "neither")
            },
        },
        interval=f"Veto, default settings: {share}. Veto, bounded: {bounded}.",
        figures=(
            Figure(
                title="Which construction training finds",
                subtitle="share of the models that generalise",
                kind="bars",
                rows=tuple(rows),
                x=Axis("case", "task, D: default settings, B: bounded", "category"),
                y=Axis("share", "share of models"),
                colour=Axis("kind", "", "category"),
            ),
            *(() if picture is None else (picture,)),
        ),
        caveats=(
            "A head is looked at by its attention alone; what its values do with it is not asked.",
            f"One sample size, {SAMPLES}; contexts and tasks are pooled in the share that is judged.",
        ),
    )


def _short(preset: str) -> str:
    return preset.partition(":")[2] or "default"


def _lists(tabulated: Tabulated, law: SymbolLaw, function: object, context: int) -> Figure:
    """The head whose pairs decide most, as decision lists."""
    head = max(
        read_lists(tabulated, law, 6),
        key=lambda head: sum(ring.decides for ring in head.rings if ring.position is not None),
    )
    rows: list[Row] = [
        {
            "pair": "[CLS]" if ring.symbol is None else f"x{ring.position}={ring.symbol}",
            "decides": ring.decides,
            "answer": "above 0" if ring.answer > 0 else "below 0" if ring.answer < 0 else "0",
        }
        for ring in head.rings
    ]
    if head.others:
        rows.append({"pair": "rest", "decides": head.others_decide, "answer": "several"})
    return Figure(
        title="What the head looks at, in the order in which it looks",
        kind="bars",
        rows=tuple(rows),
        x=Axis("pair", "pair, highest score first", "category"),
        y=Axis("decides", "mean attention of the head"),
        colour=Axis("answer", "answer", "category"),
        subtitle=f"a trained head for {function}, T = {context}, penalised path norm",
    )
