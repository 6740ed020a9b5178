"""Do heads agree with annotation? Head and offset are chosen on one part and scored on another, beside controls."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.api.opening import array_of, open_checkpoint
from keyhole.apps.heads.annotation import (
    DIRECTIONS,
    OFFSETS,
    POOLING,
    Agreement,
    Example,
    Sentence,
    agreement,
    best_map,
    best_offset,
    read_conllu,
    resampled,
)
from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.heads import COUNTING, part_of
from keyhole.apps.heads.show_heads_annotation import heads_annotation_document
from keyhole.apps.heads.texts import text_reader
from keyhole.checkpoints import Architecture, Checkpoint, Prepared, prepare
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Watch, ignore
from keyhole.show.document import Document

LEAST = 100  # pairs of a relation, in each part, for it to be ranked
RESAMPLES = 10_000
LEVEL = 0.05
DIRECTION_IS = {"to": "the word attends to its target most", "from": "its target attends to the word most"}


@dataclass(frozen=True)
class ScoredMap:
    """A map chosen on the first part: its head, its direction, its share there, and on the second with an interval."""

    layer: int
    head: int
    direction: str
    chosen: float
    scored: Estimate


@dataclass(frozen=True)
class RelationScore:
    """One relation: the best map, offset and controls, all chosen on the first part and scored on the second.

    The intervals hold together for all relations (Bonferroni), over resampled inputs.
    """

    relation: str
    chosen_pairs: int
    scored_pairs: int
    best: ScoredMap
    median: float  # over all maps, on the second part
    offset: int | None  # None: rows have no order
    offset_chosen: float | None
    offset_scored: float | None
    chance: float  # of a word drawn at random among the others
    controls: Mapping[str, ScoredMap]
    over: Mapping[str, Estimate]  # the head's share minus each rival's, pair by pair

    @property
    def verdict(self) -> str:
        """Whether the head is above all its rivals, below one of them, or neither is shown."""
        lows = [each.low for each in self.over.values()]
        highs = [each.high for each in self.over.values()]
        if min(lows) > 0:
            return "above"
        return "below" if min(highs) < 0 else "open"


@dataclass(frozen=True, repr=False, eq=False)
class HeadsAnnotation(Result):
    """Every relation's best head, scored where it was not chosen."""

    schema: ClassVar[str] = "heads-annotation/1"
    has_figure: ClassVar[bool] = True

    checkpoint: Checkpoint
    chosen_on: str
    scored_on: str
    scores: tuple[RelationScore, ...]
    rare: Mapping[str, tuple[int, int]]  # relations with too few pairs: in each part
    left_out: tuple[int, int]  # inputs of each part that were too long, too short or not to be spelled
    longest: int
    seed: int

    @property
    def summary(self) -> str:
        """How many relations have a head above all rivals, and the best."""
        good = [each for each in self.scores if each.verdict == "above"]
        sentence = f"{len(good)} of {len(self.scores)} relations have a head above the best offset and both controls"
        if good:
            best = max(good, key=lambda each: each.over[min(each.over, key=lambda name: each.over[name].low)].low)
            sentence += f"; {best.relation} most clearly ({best.best.layer + 1}-{best.best.head + 1})"
        return sentence

    def document(self) -> Document:
        """The protocol, a row per relation, those too rare, what was not tested."""
        return heads_annotation_document(self.record())

    def figure(self) -> Figure:
        """Each relation's share for the head, the offset and the controls."""
        rows: list[Row] = []
        for each in self.scores:
            points = [("best head", each.best.scored)]
            if each.offset_scored is not None:
                points.append(("best offset", Estimate(each.offset_scored, each.offset_scored, each.offset_scored)))
            points += [(name, control.scored) for name, control in each.controls.items()]
            rows += [
                {"relation": each.relation, "share": at.value, "low": at.low, "high": at.high, "what": what}
                for what, at in points
            ]
        return Figure(
            title="Agreement with annotation, chosen on one part and scored on the other",
            subtitle=f"intervals hold together for {len(self.scores)} relations; {RESAMPLES} resamples of inputs",
            kind="points",
            rows=tuple(rows),
            x=Axis("relation", "relation", "category"),
            y=Axis("share", "share of pairs"),
            colour=Axis("what", "chosen", "category"),
            low="low",
            high="high",
        )

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "source": self.checkpoint.source,
            "architecture": self.checkpoint.architecture,
            "counting": COUNTING,
            "chosen_on": self.chosen_on,
            "scored_on": self.scored_on,
            "pooling": POOLING,
            "directions": DIRECTION_IS,
            "offsets": list(OFFSETS),
            "maps": self.checkpoint.sizes.layers * self.checkpoint.sizes.heads * len(DIRECTIONS),
            "least_pairs": LEAST,
            "level": LEVEL,
            "resamples": RESAMPLES,
            "longest": self.longest,
            "left_out": list(self.left_out),
            "controls": dict(CONTROLS),
            "seed": self.seed,
            "relations": [{**asdict(each), "verdict": each.verdict} for each in self.scores],
            "rare": {name: list(pairs) for name, pairs in self.rare.items()},
        }


def heads_annotation(
    source: str | Path | Mapping[str, Any],
    *,
    chosen_on: str | Path,
    scored_on: str | Path,
    architecture: Architecture | str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    longest: int = 128,
    seed: int = 0,
    watch: Watch = ignore,
) -> HeadsAnnotation:
    """Which head finds each relation of a treebank, chosen on one CoNLL-U file and scored on another.

    Sentences of more than `longest` tokens or fewer than two words are left out, and roots. Each relation's map (a head
    and a direction) is the best of all on the first file; so are the fixed offset, and the best map of the same model
    with shuffled and with random weights. On the second file each is scored once. Intervals resample sentences, and
    hold for all ranked relations together. A head that agrees is described by it, and not explained.
    """
    treebanks = [(Path(path).name, read_conllu(path)) for path in (chosen_on, scored_on)]
    checkpoint = open_checkpoint(source, architecture=architecture, config=config)
    model = prepare(checkpoint, single=True)
    parts = [_Treebank(model, sentences, longest) for _, sentences in treebanks]
    names = [f"{name}, {len(part.lengths)} sentences" for (name, _), part in zip(treebanks, parts, strict=True)]
    return _compare(model, parts, names, ordered=True, longest=longest, seed=seed, watch=watch)


def heads_nearest(
    source: str | Path | Mapping[str, Any],
    *,
    rows: str | Path | np.ndarray,
    architecture: Architecture | str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    seed: int = 0,
    watch: Watch = ignore,
) -> HeadsAnnotation:
    """Which head finds the nearest other point, chosen on the first half of the inputs and scored on the second.

    `rows` are points (inputs, T, coordinates) of a model without positions.
    """
    rows = array_of(rows, "rows")
    if rows.ndim != 3 or len(rows) < 4 or rows.shape[1] < 3:
        raise DataError(f"Points of shape {rows.shape} were given; give four inputs or more of three points or more.")
    checkpoint = open_checkpoint(source, architecture=architecture, config=config)
    model = prepare(checkpoint, single=True)
    half = len(rows) // 2
    parts = [_Points(model, rows[:half]), _Points(model, rows[half:])]
    names = [f"inputs 1 to {half}", f"inputs {half + 1} to {len(rows)}"]
    return _compare(model, parts, names, ordered=False, longest=rows.shape[1], seed=seed, watch=watch)


class _Treebank:
    """The sentences of a treebank as examples, embedded when they are run."""

    def __init__(self, model: Prepared, sentences: Sequence[Sentence], longest: int) -> None:
        reader = text_reader(model.checkpoint.source)
        self.model = model
        self.kept = []
        for sentence in sentences:
            pieces = reader.words(sentence.words)
            spelled = len(set(pieces.words[pieces.words >= 0].tolist())) == len(sentence.words)
            if len(sentence.words) >= 2 and len(pieces) <= longest and spelled:
                self.kept.append((pieces, sentence))
        self.left_out = len(sentences) - len(self.kept)
        self.lengths = [len(pieces) for pieces, _ in self.kept]
        if not self.kept:
            raise DataError("No sentence of the treebank has two words and fits; give longer or shorter ones.")

    def give(self, index: int) -> Example:
        pieces, sentence = self.kept[index]
        return Example(self.model.embed(pieces.tokens), pieces.words, np.array(sentence.heads), sentence.relations)


class _Points:
    """Points as examples, each with the nearest other for its target."""

    left_out = 0

    def __init__(self, model: Prepared, points: np.ndarray) -> None:
        self.model, self.points = model, points
        self.lengths = [points.shape[1]] * len(points)

    def give(self, index: int) -> Example:
        points = self.points[index]
        apart = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
        np.fill_diagonal(apart, np.inf)
        rows = self.model.embed_features(points)
        words = np.arange(len(rows)) - (len(rows) - len(points))
        return Example(rows, np.maximum(words, -1), apart.argmin(axis=1), ("nearest",) * len(points))


def _compare(
    model: Prepared,
    parts: Sequence[Any],
    names: Sequence[str],
    *,
    ordered: bool,
    longest: int,
    seed: int,
    watch: Watch,
) -> HeadsAnnotation:
    agreements: dict[str, list[Agreement]] = {}
    models: dict[str, Prepared] = {
        "trained": model,
        **{control: controlled(model, control, seed) for control in CONTROLS},
    }
    total = sum(len(part.lengths) for part in parts)
    before = 0
    for kind, run in models.items():
        agreements[kind] = []
        for part in parts:
            view = part_of(watch, kind, before, total * len(models))
            agreements[kind].append(agreement(run, part.lengths, part.give, view))
            before += len(part.lengths)
    counts = {
        label: tuple(int((each.labels == label).sum()) for each in agreements["trained"])
        for label in sorted({str(label) for each in agreements["trained"] for label in each.labels})
    }
    ranked = [label for label, pairs in counts.items() if min(pairs) >= LEAST]
    if not ranked:
        raise DataError(f"No relation has {LEAST} pairs in both parts, so none is ranked; give larger ones.")
    sizes = np.array([len(parts[1].give(index).targets) for index in range(len(parts[1].lengths))])
    scores = tuple(
        _score(
            label,
            {kind: tuple(each.of(label) for each in both) for kind, both in agreements.items()},
            model.checkpoint,
            sizes,
            ordered=ordered,
            level=LEVEL / len(ranked),
            seed=seed,
        )
        for label in ranked
    )
    return HeadsAnnotation(
        checkpoint=model.checkpoint,
        chosen_on=names[0],
        scored_on=names[1],
        scores=tuple(sorted(scores, key=lambda each: -each.scored_pairs)),
        rare={label: pairs for label, pairs in counts.items() if label not in ranked},  # type: ignore[misc]
        left_out=(parts[0].left_out, parts[1].left_out),
        longest=longest,
        seed=seed,
    )


def _score(
    label: str,
    found: Mapping[str, tuple[Agreement, ...]],
    checkpoint: Checkpoint,
    sizes: np.ndarray,
    *,
    ordered: bool,
    level: float,
    seed: int,
) -> RelationScore:
    """Choose on the first part, score on the second, and resample its inputs once for all rivals."""
    chosen, scored = found["trained"]
    picks = {kind: best_map(both[0]) for kind, both in found.items()}
    columns = {kind: found[kind][1].correct[:, picks[kind][0]].astype(float) for kind in found}
    offset = best_offset(chosen) if ordered else None
    if offset is not None:
        columns["offset"] = (scored.offsets == offset[0]).astype(float)
    chance = 1 / (sizes[scored.inputs] - 1)
    columns["chance"] = chance
    table = np.column_stack(list(columns.values()))
    drawn = dict(zip(columns, resampled(table, scored.inputs, RESAMPLES, seed).T, strict=True))

    def estimate(values: np.ndarray, around: float) -> Estimate:
        low, high = np.quantile(values, (level / 2, 1 - level / 2))
        return Estimate(around, float(low), float(high))

    def scored_map(kind: str) -> ScoredMap:
        layer, head, direction = np.unravel_index(
            picks[kind][0], (checkpoint.sizes.layers, checkpoint.sizes.heads, len(DIRECTIONS))
        )
        share = estimate(drawn[kind], float(columns[kind].mean()))
        return ScoredMap(int(layer), int(head), DIRECTIONS[int(direction)], picks[kind][1], share)

    return RelationScore(
        relation=label,
        chosen_pairs=len(chosen.inputs),
        scored_pairs=len(scored.inputs),
        best=scored_map("trained"),
        median=float(np.median(scored.correct.mean(axis=0))),
        offset=None if offset is None else offset[0],
        offset_chosen=None if offset is None else offset[1],
        offset_scored=None if offset is None else float(columns["offset"].mean()),
        chance=float(chance.mean()),
        controls={kind: scored_map(kind) for kind in found if kind != "trained"},
        over={
            rival: estimate(drawn["trained"] - drawn[rival], float((columns["trained"] - columns[rival]).mean()))
            for rival in columns
            if rival != "trained"
        },
    )
