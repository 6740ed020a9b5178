"""Do heads agree with a treebank? Head and offset are chosen on one part and scored on another, beside controls.

For each word with a head in the treebank (roots have none) every map of the model points at one other word. Two maps
are read of each attention head: "to", the word that the dependent attends to most, and "from", the word that attends to
the dependent most. Special tokens and the word itself are left out. The attention to a word in several pieces is
the sum over its pieces and the attention from it their mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.heads.controls import CONTROLS, controlled
from keyhole.apps.heads.head_statistics import batches, filled, word_maps
from keyhole.apps.heads.heads import COUNTING, part_of
from keyhole.apps.heads.model_source import Source, open_checkpoint
from keyhole.apps.heads.texts import Pieces, text_reader
from keyhole.arrays import Bool, Float, Int
from keyhole.checkpoints import Maps, Prepared, Sizes, prepare
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure, Row
from keyhole.files.reading import read_text
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show

DIRECTIONS = ("to", "from")
OFFSETS = tuple(step for step in range(-5, 6) if step)
POOLING = "attention to a word is the sum over its pieces, attention from it their mean; the word itself is left out"
LONGEST = 128  # tokens of a sentence
LEAST = 100  # pairs of a relation, in each part, for it to be ranked
RESAMPLES = 10_000
LEVEL = 0.05
DIRECTION_IS = {"to": "the word attends to its target most", "from": "its target attends to the word most"}
PUBLISHED = (
    "Not tested here (other model, other treebank and annotation, the same protocol): for BERT-base on the Wall Street "
    "Journal, Clark et al. (2019) report dobj 86.8 % (head 8-10), det 94.3 % (8-11), poss 80.5 % (7-6). For auxpass "
    "82.5 % (4-6) is quoted in talks; the authors' released notebook has 94.1 % (4-10), and 82.5 % for its best fixed "
    "offset. A directory with BERT-base's weights can be given to this command."
)


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, the number of each word's head from 0 (−1: a root), and the relation to it."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


def read_conllu(path: str | Path) -> tuple[Sentence, ...]:
    """Read the sentences of a CoNLL-U file; skip lines of multi-word tokens (1-2) and empty nodes (1.1)."""
    try:
        text = read_text(Path(path))
    except OSError as error:
        raise DataError(f"The treebank {str(path)!r} cannot be read: {error.strerror or error}.") from error
    sentences = []
    for number, block in enumerate(text.replace("\r\n", "\n").split("\n\n"), 1):
        lines = [line.split("\t") for line in block.split("\n") if line.strip() and not line.startswith("#")]
        words = [line for line in lines if line[0].isdigit()]
        if not words:
            continue
        whole = all(len(line) >= 8 and line[6].isdigit() for line in words)
        if not whole or [int(line[0]) for line in words] != list(range(1, len(words) + 1)):
            raise DataError(
                f"Sentence {number} of {str(path)!r} has words without their numbers in order, or without a head; give "
                "a CoNLL-U file, ten columns parted by tabs."
            )
        heads = tuple(int(line[6]) - 1 for line in words)
        if max(heads) >= len(words):
            raise DataError(f"Sentence {number} of {str(path)!r} has the head {max(heads) + 1} and {len(words)} words.")
        sentences.append(Sentence(tuple(line[1] for line in words), heads, tuple(line[7] for line in words)))
    if not sentences:
        raise DataError(f"{str(path)!r} has no sentence; give a CoNLL-U file.")
    return tuple(sentences)


@dataclass(frozen=True, eq=False)
class Example:
    """One input: its rows, the word of each (−1: of none), each word's target (−1: none) and the label of the pair."""

    rows: Float[np.ndarray, "T d"]
    words: Int[np.ndarray, "T"]
    targets: Int[np.ndarray, "words"]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Agreement:
    """For every word with a target: its input, its label, how far its target is, and which maps point at it.

    `correct` has a column per (layer, head, direction), flattened in this order.
    """

    inputs: Int[np.ndarray, "pairs"]
    labels: np.ndarray  # (pairs,) of text
    offsets: Int[np.ndarray, "pairs"]
    correct: Bool[np.ndarray, "pairs maps"]

    def of(self, label: str) -> "Agreement":
        """Return the pairs of one label."""
        chosen = self.labels == label
        return Agreement(self.inputs[chosen], self.labels[chosen], self.offsets[chosen], self.correct[chosen])


def agreement(
    model: Prepared, lengths: Sequence[int], give: Callable[[int], Example], watch: Watch = ignore
) -> Agreement:
    """Find the maps that point at each word's target, over inputs of these lengths."""
    sizes = model.checkpoint.sizes
    inputs, labels, offsets, correct = [], [], [], []
    done = 0
    for batch in batches(lengths):
        examples = [give(index) for index in batch]
        rows, visible = filled([each.rows for each in examples])
        hits = [np.zeros((sizes.layers, sizes.heads, 2, int((each.targets >= 0).sum())), bool) for each in examples]

        def look(layer: int, maps: Maps, examples: Any = examples, hits: Any = hits) -> None:
            for number, each in enumerate(examples):
                T, paired = len(each.words), each.targets >= 0
                between = word_maps(maps[number, :, :T, :T], each.words)
                places = np.arange(between.shape[-1])
                between[:, places, places] = -1.0
                hits[number][layer, :, 0] = between.argmax(axis=2)[:, paired] == each.targets[paired]
                hits[number][layer, :, 1] = between.argmax(axis=1)[:, paired] == each.targets[paired]

        model.run(rows, visible, look)
        for index, each, hit in zip(batch, examples, hits, strict=True):
            paired = np.flatnonzero(each.targets >= 0)
            inputs.append(np.full(len(paired), index))
            labels.append(np.array([each.labels[at] for at in paired], dtype=object))
            offsets.append(each.targets[paired] - paired)
            correct.append(hit.reshape(-1, len(paired)).T)
        done += len(batch)
        watch(Progress(done, len(lengths), f"inputs of up to {rows.shape[1]} rows"))
    joined = [np.concatenate(each) for each in (inputs, labels, offsets, correct)]
    return Agreement(*joined)


def resampled(
    columns: Float[np.ndarray, "pairs columns"], inputs: Int[np.ndarray, "pairs"], resamples: int, seed: int
) -> Float[np.ndarray, "resamples columns"]:
    """Return shares of each column over inputs drawn with replacement, all pairs of an input together.

    Inputs without a pair change no share, so that only those with one are drawn.
    """
    _, at = np.unique(inputs, return_inverse=True)
    count = int(at.max()) + 1
    sums = np.zeros((count, columns.shape[1] + 1))
    np.add.at(sums, at, np.column_stack([columns, np.ones(len(columns))]))
    rng = np.random.default_rng(seed)
    drawn = []
    for start in range(0, resamples, 500):
        picked = rng.multinomial(count, np.full(count, 1 / count), size=min(500, resamples - start))
        total = picked @ sums
        drawn.append(total[:, :-1] / total[:, -1:])
    return np.concatenate(drawn)


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

    properties: ClassVar[tuple[str, ...]] = ("verdict",)

    relation: str
    chosen_pairs: int
    scored_pairs: int
    best: ScoredMap
    median: float  # over all maps, on the second part
    offset: int
    offset_chosen: float
    offset_scored: float
    chance: float  # of a word drawn at random among the others
    controls: Mapping[str, ScoredMap]
    over: Mapping[str, Estimate]  # the head's share minus each rival's, pair by pair

    @property
    def verdict(self) -> str:
        """Return "above" if the head is above all its rivals, "below" if it is below one, else "open"."""
        if min(each.low for each in self.over.values()) > 0:
            return "above"
        return "below" if min(each.high for each in self.over.values()) < 0 else "open"


@dataclass(frozen=True, repr=False)
class HeadsAnnotation(Result):
    """Every relation's best head, scored where it was not chosen."""

    schema: ClassVar[str] = "heads-annotation/1"
    properties: ClassVar[tuple[str, ...]] = (
        "counting",
        "pooling",
        "directions",
        "offsets",
        "least_pairs",
        "level",
        "resamples",
        "controls",
    )
    counting: ClassVar[str] = COUNTING
    pooling: ClassVar[str] = POOLING
    directions: ClassVar[Mapping[str, str]] = DIRECTION_IS
    offsets: ClassVar[tuple[int, ...]] = OFFSETS
    least_pairs: ClassVar[int] = LEAST
    level: ClassVar[float] = LEVEL
    resamples: ClassVar[int] = RESAMPLES
    controls: ClassVar[Mapping[str, str]] = CONTROLS

    source: str
    architecture: str
    chosen_on: str
    scored_on: str
    maps: int
    relations: tuple[RelationScore, ...]
    rare: Mapping[str, tuple[int, int]]  # relations with too few pairs: in each part
    left_out: tuple[int, int]  # sentences of each part that were too long, too short or not to be spelled
    longest: int
    seed: int

    def lines(self, show: Show) -> None:
        """Set a row per relation; the verbose text adds the protocol, and what is too rare or not tested."""
        good = sum(each.verdict == "above" for each in self.relations)
        show.line(
            f"{good} of {len(self.relations)} relations have a head above the best offset, both controls and chance"
        )
        show.table(
            {
                "relation": "<",
                "pairs": ">",
                "head": "<",
                "dev": ">",
                "test": ">",
                "interval": "<",
                "offset": "<",
                "nulls": "<",
                "head is": "<",
            },
            [
                (
                    each.relation,
                    str(each.scored_pairs),
                    f"{each.best.layer + 1}-{each.best.head + 1} {each.best.direction}",
                    _percent(each.best.chosen),
                    _percent(each.best.scored.value),
                    f"{_percent(each.best.scored.low)}–{_percent(each.best.scored.high)}",
                    f"{each.offset:+d}: {_percent(each.offset_scored)}",
                    "/".join(_percent(control.scored.value) for control in each.controls.values()),
                    each.verdict,
                )
                for each in self.relations
            ],
        )
        show.line(
            f"In percent of pairs. Chosen on {self.chosen_on} (dev), scored on {self.scored_on}; intervals hold "
            f"together for all {len(self.relations)} relations (Bonferroni)."
        )
        if not show.verbose:
            return
        show.facts(
            [
                ("model", f"{self.source} ({self.architecture})"),
                ("left out", f"{self.left_out[0]} and {self.left_out[1]} sentences"),
                (
                    "maps",
                    f"{self.maps}: of every head "
                    + ", ".join(f"{name} ({what})" for name, what in DIRECTION_IS.items()),
                ),
                ("words", POOLING),
                (
                    "intervals",
                    f"quantiles of {RESAMPLES} resamples of the inputs that have the relation, {100 * (1 - LEVEL):g} %",
                ),
                ("nulls", f"the best maps of {' and '.join(CONTROLS)} weights"),
                (
                    "above",
                    "the interval of the difference is above 0 for each of the best offset, both controls and chance",
                ),
                ("below", "the interval of the difference is below 0 for one of them; else open"),
                *CONTROLS.items(),
            ]
        )
        rare = ", ".join(f"{name} ({pairs[0]} and {pairs[1]})" for name, pairs in self.rare.items())
        if rare:
            show.line(f"Not ranked, under {LEAST} pairs in a part: {rare}.")
        show.line(PUBLISHED)

    def figure(self) -> Figure:
        """Draw each relation's share for the head, the offset and the controls."""
        rows: list[Row] = []
        for each in self.relations:
            points = [
                ("best head", each.best.scored),
                ("best offset", Estimate(each.offset_scored, each.offset_scored, each.offset_scored)),
                *((name, control.scored) for name, control in each.controls.items()),
            ]
            rows += [
                {"relation": each.relation, "share": at.value, "low": at.low, "high": at.high, "what": what}
                for what, at in points
            ]
        return Figure(
            title="Agreement with annotation, chosen on one part and scored on the other",
            subtitle=f"intervals hold together for {len(self.relations)} relations; {RESAMPLES} resamples of inputs",
            kind="points",
            rows=tuple(rows),
            x=Axis("relation", "relation", "category"),
            y=Axis("share", "share of pairs"),
            colour=Axis("what", "chosen", "category"),
            low="low",
            high="high",
        )


def _spelled(model: Prepared, sentences: Sequence[Sentence]) -> list[tuple[Pieces, Sentence]]:
    """Return the sentences of at least two words that fit, each with its pieces."""
    reader, kept = text_reader(model.checkpoint.source), []
    for sentence in sentences:
        pieces = reader.words(sentence.words)
        whole = len(set(pieces.words[pieces.words >= 0].tolist())) == len(sentence.words)
        if len(sentence.words) >= 2 and len(pieces) <= LONGEST and whole:
            kept.append((pieces, sentence))
    if not kept:
        raise DataError("No sentence of the treebank has two words and fits; give longer or shorter ones.")
    return kept


def heads_annotation(
    source: Source,
    *,
    chosen_on: str | Path,
    scored_on: str | Path,
    seed: int = 0,
    watch: Watch = ignore,
) -> HeadsAnnotation:
    """Find the head of each relation of a treebank, chosen on one CoNLL-U file and scored on another.

    Sentences of more than 128 tokens or fewer than two words are left out, and roots. Each relation's map (a head
    and a direction) is the best of all on the first file; so are the fixed offset, and the best map of the same model
    with shuffled and with random weights. On the second file each is scored once. Intervals resample sentences, and
    hold for all ranked relations together. A head that agrees is described by it, and not explained.
    """
    paths = Path(chosen_on), Path(scored_on)
    sentences = [read_conllu(path) for path in paths]
    model = prepare(open_checkpoint(source), single=True)
    parts = [_spelled(model, each) for each in sentences]

    def example(part: int, index: int) -> Example:
        pieces, sentence = parts[part][index]
        return Example(model.embed(pieces.tokens), pieces.words, np.array(sentence.heads), sentence.relations)

    agreements: dict[str, list[Agreement]] = {}
    total, before = (1 + len(CONTROLS)) * sum(map(len, parts)), 0
    for kind in ("trained", *CONTROLS):
        run = model if kind == "trained" else controlled(model, kind, seed)
        agreements[kind] = []
        for number, part in enumerate(parts):
            lengths, view = [len(pieces) for pieces, _ in part], part_of(watch, kind, before, total)
            agreements[kind].append(agreement(run, lengths, partial(example, number), view))
            before += len(part)
    words = np.array([len(sentence.heads) for _, sentence in parts[1]])
    relations, rare = ranked(agreements, model.checkpoint.sizes, words, seed)
    names = [f"{path.name}, {len(part)} sentences" for path, part in zip(paths, parts, strict=True)]
    return HeadsAnnotation(
        source=model.checkpoint.source,
        architecture=model.checkpoint.architecture,
        chosen_on=names[0],
        scored_on=names[1],
        maps=model.checkpoint.sizes.layers * model.checkpoint.sizes.heads * len(DIRECTIONS),
        relations=relations,
        rare=rare,
        left_out=(len(sentences[0]) - len(parts[0]), len(sentences[1]) - len(parts[1])),
        longest=LONGEST,
        seed=seed,
    )


def ranked(
    agreements: Mapping[str, Sequence[Agreement]], sizes: Sizes, words: np.ndarray, seed: int
) -> tuple[tuple[RelationScore, ...], dict[str, tuple[int, int]]]:
    """Score the relations with enough pairs, the most frequent first; count the pairs of the others.

    `agreements` has both parts of the trained model and of each control; `words` counts those of the second's inputs.
    """
    first, second = agreements["trained"]
    counts = {
        label: (int((first.labels == label).sum()), int((second.labels == label).sum()))
        for label in sorted({str(label) for each in (first, second) for label in each.labels})
    }
    frequent = [label for label, pairs in counts.items() if min(pairs) >= LEAST]
    if not frequent:
        raise DataError(f"No relation has {LEAST} pairs in both parts, so none is ranked; give larger ones.")
    scores = [
        _score(
            label,
            {kind: tuple(each.of(label) for each in both) for kind, both in agreements.items()},
            sizes,
            words,
            level=LEVEL / len(frequent),
            seed=seed,
        )
        for label in frequent
    ]
    return tuple(sorted(scores, key=lambda each: -each.scored_pairs)), {
        label: pairs for label, pairs in counts.items() if label not in frequent
    }


def _score(
    label: str,
    agreements: Mapping[str, tuple[Agreement, ...]],
    sizes: Sizes,
    words: np.ndarray,
    *,
    level: float,
    seed: int,
) -> RelationScore:
    """Choose on the first part, score on the second, and resample its inputs once for all rivals."""
    chosen, scored = agreements["trained"]
    shares = {kind: both[0].correct.mean(axis=0) for kind, both in agreements.items()}
    picks = {kind: int(share.argmax()) for kind, share in shares.items()}
    columns = {kind: agreements[kind][1].correct[:, picks[kind]].astype(float) for kind in agreements}
    by_offset = {step: float((chosen.offsets == step).mean()) for step in OFFSETS}
    offset = max(by_offset, key=lambda step: by_offset[step])
    columns["offset"] = (scored.offsets == offset).astype(float)
    columns["chance"] = 1 / (words[scored.inputs] - 1)
    table = np.column_stack(list(columns.values()))
    drawn = dict(zip(columns, resampled(table, scored.inputs, RESAMPLES, seed).T, strict=True))

    def estimate(values: np.ndarray, around: float) -> Estimate:
        low, high = np.quantile(values, (level / 2, 1 - level / 2))
        return Estimate(around, float(low), float(high))

    def scored_map(kind: str) -> ScoredMap:
        layer, head, direction = np.unravel_index(picks[kind], (sizes.layers, sizes.heads, len(DIRECTIONS)))
        share = estimate(drawn[kind], float(columns[kind].mean()))
        return ScoredMap(int(layer), int(head), DIRECTIONS[int(direction)], float(shares[kind].max()), share)

    return RelationScore(
        relation=label,
        chosen_pairs=len(chosen.inputs),
        scored_pairs=len(scored.inputs),
        best=scored_map("trained"),
        median=float(np.median(scored.correct.mean(axis=0))),
        offset=offset,
        offset_chosen=by_offset[offset],
        offset_scored=float(columns["offset"].mean()),
        chance=float(columns["chance"].mean()),
        controls={kind: scored_map(kind) for kind in agreements if kind != "trained"},
        over={
            rival: estimate(drawn["trained"] - drawn[rival], float((columns["trained"] - columns[rival]).mean()))
            for rival in columns
            if rival != "trained"
        },
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
