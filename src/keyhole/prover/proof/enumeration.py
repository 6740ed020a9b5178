"""The words of a small part one by one: a tie that doubles leave open is decided in more bits."""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product
from math import comb, prod

import numpy as np

from keyhole.arrays import Int
from keyhole.prover.proof.after_attention import Tail, trace
from keyhole.prover.proof.lower_bound import Verification
from keyhole.prover.proof.tables import Tables, outputs, sequence_of
from keyhole.prover.proof.words import CutWords

MOST_INPUTS = 10**5  # of a part that is enumerated
LONGEST = 1024  # symbols of its words: 100 MB in all
CHUNK = 2**20  # numbers of points traced together

ExactOutput = Callable[[Int[np.ndarray, "T"]], tuple[float, float]]  # an input → two doubles with f between them


def is_small(tables: Tables, reads: tuple[int, ...], node: CutWords) -> bool:
    """Return whether the words of a part, with all that other rows may show, are few enough to be enumerated."""
    free = prod(comb(int(tables.counts[row]) + tables.symbols - 1, tables.symbols - 1) for row in _free(tables, reads))
    if free > MOST_INPUTS or len(reads) > LONGEST:
        return False
    return node.words.size * free <= MOST_INPUTS


def enumerated(
    tables: Tables,
    tail: Tail,
    reads: tuple[int, ...],
    node: CutWords,
    *,
    above: float,
    exact: ExactOutput | None,
    late: Callable[[], bool],
) -> Verification:
    """Return the verdict on all words of a part's class, half-spaces aside: each input is computed with its error.

    Statement  PROVED with margin μ > above: sign·f ≥ μ on every word of the part. COUNTEREXAMPLE: one word is wrong.
    Assumes    `exact` is the f of which the tables are; without it, a word that balls leave open is UNDECIDED.
    Proof      Every input is in its ball (`trace`), or in the ends that `exact` returns.
    Source     Ours.
    """
    sign = 1.0 if node.wanted else -1.0
    margin = np.inf
    for points in _points(tables, reads, node):
        if late():
            return Verification("UNDECIDED", bound=node.bound, reason="time ended")
        ball = trace(tail, outputs(tables, points)).output
        low, high = (ball.low, ball.high) if node.wanted else (-ball.high, -ball.low)
        for index in np.flatnonzero(~(low > above)):  # NaN is open
            least, most = float(low[index]), float(high[index])
            sequence = sequence_of(tables, points[index])
            if not most < 0 and exact is not None:
                if late():
                    return Verification("UNDECIDED", bound=node.bound, reason="time ended")
                least, most = sorted(sign * end for end in exact(sequence))
            if most < 0:
                output = sign * (least + most) / 2
                return Verification("COUNTEREXAMPLE", counterexample=sequence, wanted=node.wanted, output=output)
            if not least > above:
                word = "a word is as near to a tie as can be told" if not least > 0 else f"a word has {least:.3g} alone"
                return Verification("UNDECIDED", bound=max(least, node.bound), reason=word)
            low[index] = least
        margin = min(margin, float(low.min()))
    return Verification("PROVED", margin=margin)


def _free(tables: Tables, reads: tuple[int, ...]) -> list[int]:
    return [row for row in range(len(tables.counts)) if row not in set(reads)]


def _points(tables: Tables, reads: tuple[int, ...], node: CutWords) -> Iterator[Int[np.ndarray, "n rows A"]]:
    """Yield every input of the part, some at a time."""
    symbols, unit = tables.symbols, np.eye(tables.symbols, dtype=np.int64)
    free = _free(tables, reads)
    kinds = [
        [unit[list(shown)].sum(axis=0) for shown in combinations_with_replacement(range(symbols), tables.counts[row])]
        for row in free
    ]
    others = [np.array(choice).reshape(len(free), symbols) for choice in product(*kinds)]
    words = node.words.words()
    step = max(1, CHUNK // (len(tables.counts) * symbols))
    for start in range(0, len(words), step):
        shown = np.zeros((len(words[start : start + step]), len(tables.counts), symbols), dtype=np.int64)
        shown[:, list(reads)] = unit[words[start : start + step]]
        for other in others:
            shown[:, free] = other
            yield shown
