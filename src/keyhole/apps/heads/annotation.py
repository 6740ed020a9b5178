"""Heads against annotation: does a head's favourite word agree with the one that a treebank names?

For each word with a head in the treebank (roots have none) every map of the model points at one other word. Two maps
are read of each attention head: "to", the word that the dependent attends to most, and "from", the word that attends to
the dependent most. Special tokens and the word itself are left out. Of a word in several pieces, the attention to it is
the sum over its pieces and the attention from it their mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.apps.heads.batches import batches, filled
from keyhole.arrays import Bool, Float, Int
from keyhole.checkpoints import Maps, Prepared
from keyhole.errors import DataError
from keyhole.files.reading import read_text
from keyhole.progress import Progress, Watch, ignore

DIRECTIONS = ("to", "from")
OFFSETS = tuple(step for step in range(-5, 6) if step)
POOLING = "attention to a word is the sum over its pieces, attention from it their mean; the word itself is left out"


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
    count: int  # inputs

    def of(self, label: str) -> "Agreement":
        """Return the pairs of one label."""
        chosen = self.labels == label
        return Agreement(
            self.inputs[chosen], self.labels[chosen], self.offsets[chosen], self.correct[chosen], self.count
        )


def word_maps(maps: Float[np.ndarray, "heads T T"], words: Int[np.ndarray, "T"]) -> Float[np.ndarray, "heads W W"]:
    """Return maps between words: summed over the pieces attended to, averaged over those that attend."""
    member = (words[:, None] == np.arange(words.max() + 1)).astype(maps.dtype)
    return np.asarray((member / member.sum(axis=0)).T @ maps @ member)


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
                T, asked = len(each.words), each.targets >= 0
                between = word_maps(maps[number, :, :T, :T], each.words)
                places = np.arange(between.shape[-1])
                between[:, places, places] = -1.0
                hits[number][layer, :, 0] = between.argmax(axis=2)[:, asked] == each.targets[asked]
                hits[number][layer, :, 1] = between.argmax(axis=1)[:, asked] == each.targets[asked]

        model.run(rows, visible, look)
        for index, each, hit in zip(batch, examples, hits, strict=True):
            asked = np.flatnonzero(each.targets >= 0)
            inputs.append(np.full(len(asked), index))
            labels.append(np.array([each.labels[at] for at in asked], dtype=object))
            offsets.append(each.targets[asked] - asked)
            correct.append(hit.reshape(-1, len(asked)).T)
        done += len(batch)
        watch(Progress(done, len(lengths), f"inputs of up to {rows.shape[1]} rows"))
    joined = [np.concatenate(each) for each in (inputs, labels, offsets, correct)]
    return Agreement(joined[0], joined[1], joined[2], joined[3], len(lengths))


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
