"""Every junta on a few positions that fits a sample, found without any network.

A set of positions fits exactly when it tells every true sample from every false one: when it meets, for each pair of
a true and a false sample, the set of positions in which the two differ. Such sets are searched by branching: an
unmet pair must be met by one of its own differences. Most branches die after a few pairs, so T = 400 and three
positions (10.6 million triples) take a fraction of a second.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from time import monotonic

import numpy as np

from keyhole.arrays import Bool, Int, Shaped
from keyhole.boolean.fitting.bitsets import Words, pack, set_bits
from keyhole.boolean.junta import Junta, cells_of, without_ignored

PAIRS = 20_000  # of a true and a false sample; what survives these is checked on every sample
MOST = 1000  # fitting sets kept; beyond, they cannot be told apart
Sample = tuple[Shaped[np.ndarray, "_m _T"], Bool[np.ndarray, "_m"]]  # a function may hold two of different sizes


@dataclass(frozen=True, eq=False)
class FittingJuntas:
    """The fitting juntas of the fewest positions, all that are known, and the only function that fits, if there is one.

    `fitting` has the smallest alone; `known` has a function for each fitting set that the search came by, also one of
    more positions, and also where the search was stopped: each is a rival of every other function that fits. `reason`
    states why nothing fits, or what was not searched to the end; `finished` is whether all was.
    """

    sparsity: int  # juntas of up to so many positions were looked for
    fitting: tuple[Junta, ...]  # one per smallest fitting set, cells without samples answered false
    only: Junta | None
    finished: bool
    reason: str = ""
    known: tuple[Junta, ...] = ()  # one per fitting set that was found and holds no smaller one, whatever its size


class _Late(Exception):  # noqa: N818  (never leaves this file)
    """The time is up, or too many sets fit."""


def juntas_that_fit(sample: Sample, symbols: int, sparsity: int, *, time_limit: float = 5.0) -> FittingJuntas:
    """The juntas on at most `sparsity` positions that fit, the smallest apart, and whether they leave one function.

    Statement  If the target is a junta on ≤ S positions and only one such junta fits the sample, it is the target.
    Proof      The target fits.
    Source     Ours (the probability-free identification).
    """
    inputs, labels = sample
    until = monotonic() + time_limit
    sparsity = min(sparsity, inputs.shape[1])
    fitting_sets: list[tuple[int, ...]] = []
    only, reason = None, ""
    try:
        for places in _minimal_sets(inputs, labels, sparsity, until):
            fitting_sets.append(places)  # noqa: PERF402  (what was found is kept when the time is up)
        only = _only(sample, symbols, fitting_sets, sparsity, until) if fitting_sets else None
        finished = True
    except _Late as late:
        finished, reason = False, str(late)
    if not fitting_sets and finished:
        reason = f"no junta on at most {sparsity} positions fits"
    fewest = min(map(len, fitting_sets), default=0)
    known = tuple(fitted_junta(sample, symbols, places) for places in sorted(fitting_sets))
    fitting = tuple(junta for junta in known if junta.sparsity == fewest)
    return FittingJuntas(sparsity, fitting, only, finished, reason, known)


def fitted_junta(sample: Sample, symbols: int, positions: tuple[int, ...]) -> Junta:
    """The junta that answers each cell as its samples do, and false where there are none."""
    inputs, labels = sample
    table = np.zeros(symbols ** len(positions), dtype=bool)
    table[cells_of(inputs, symbols, positions)[labels]] = True
    return Junta(positions, symbols, table)


def every_cell_seen(inputs: Shaped[np.ndarray, "m T"], junta: Junta) -> bool:
    """Return True if every cell of the junta has a sample."""
    seen = np.bincount(cells_of(inputs, junta.symbols, junta.positions), minlength=len(junta.table))
    return bool((seen > 0).all())


def _minimal_sets(
    inputs: Shaped[np.ndarray, "m T"], labels: Bool[np.ndarray, "m"], sparsity: int, until: float
) -> Iterator[tuple[int, ...]]:
    """The fitting sets of at most so many positions that hold no smaller one, smallest first."""
    true, false = np.flatnonzero(labels), np.flatnonzero(~labels)
    if not len(true) or not len(false):
        yield ()
        return
    pairs = len(true) * len(false)
    # a fixed spread of pairs; any choice is right, since survivors are checked on every sample
    chosen = np.arange(pairs) if pairs <= PAIRS else np.linspace(0, pairs - 1, PAIRS).astype(np.int64)
    differ = inputs[true[chosen // len(false)]] != inputs[false[chosen % len(false)]]
    known: set[tuple[int, ...]] = set()
    symbols = int(inputs.max(initial=0)) + 1
    for size in range(1, sparsity + 1):
        for places in _meeting(differ, pack(differ), (), size, until):
            ordered = tuple(sorted(places))
            parts = (part for r in range(1, len(ordered) + 1) for part in combinations(ordered, r))
            if any(part in known for part in parts):
                continue
            cells = cells_of(inputs, symbols, ordered)
            if np.intersect1d(cells[labels], cells[~labels]).size:
                continue
            known.add(ordered)
            yield ordered
            if len(known) > MOST:
                raise _Late(f"more than {MOST} sets of positions fit the sample")
        for place in [place for places in known if len(places) == 1 for place in places]:
            differ[:, place] = False  # what fits alone is in no larger minimal set


def _meeting(
    differ: Bool[np.ndarray, "pairs T"],
    packed: Words,
    chosen: tuple[int, ...],
    left: int,
    until: float,
) -> Iterator[tuple[int, ...]]:
    """The chosen positions with at most `left` more, so that every pair is met."""
    if monotonic() > until:
        raise _Late("the time for the search was up")
    if not len(differ):
        yield chosen
        return
    if left == 0:
        return
    if left == 1:
        yield from ((*chosen, place) for place in set_bits(np.bitwise_and.reduce(packed, axis=0)))
        return
    branches = np.flatnonzero(differ[np.argmin(differ.sum(axis=1))])  # one of these is in every set that fits
    if left == 2:
        yield from _last_two(differ, packed, chosen, branches)
        return
    for place in branches.tolist():
        unmet = ~differ[:, place]
        yield from _meeting(differ[unmet], packed[unmet], (*chosen, place), left - 1, until)


def _last_two(
    differ: Bool[np.ndarray, "pairs T"],
    packed: Words,
    chosen: tuple[int, ...],
    branches: Int[np.ndarray, "b"],
) -> Iterator[tuple[int, ...]]:
    """All branches at once: what is left for the last position, thinned pair by pair until few branches live."""
    hopes = np.full((len(branches), packed.shape[1]), np.uint64(2**64 - 1))
    alive = branches
    for index in range(len(packed)):
        unmet = ~differ[index, alive]
        hopes[unmet] &= packed[index]
        if index % 8 == 7:
            living = hopes.any(axis=1)
            hopes, alive = hopes[living], alive[living]
            if len(alive) <= 4:
                break
    for place in alive.tolist():
        rest = packed[~differ[:, place]]
        if not len(rest):
            yield (*chosen, place)
        else:
            yield from ((*chosen, place, last) for last in set_bits(np.bitwise_and.reduce(rest, axis=0)))


def _only(sample: Sample, symbols: int, sets: list[tuple[int, ...]], sparsity: int, until: float) -> Junta | None:
    """The one function on ≤ S positions that fits, or None.

    Every fitting set of S positions holds one of `sets`. A cell of such a set without samples leaves two functions;
    so the function is the only one exactly when all sets give it, and no set of S positions around one of them has
    an unseen cell.
    """
    functions = [without_ignored(fitted_junta(sample, symbols, places)) for places in sets]
    first = functions[0]
    for junta in functions[1:]:
        if junta.positions != first.positions or not np.array_equal(junta.table, first.table):
            return None
    seen = all(_all_seen(sample[0], symbols, places, sparsity, until) for places in sets)
    return first if seen else None


def _all_seen(
    inputs: Shaped[np.ndarray, "m T"], symbols: int, positions: tuple[int, ...], sparsity: int, until: float
) -> bool:
    """Return True if every set of S positions around these has a sample in each of its cells."""
    tokens = inputs.shape[1]
    others = [place for place in range(tokens) if place not in positions]
    more = sparsity - len(positions)
    if more <= 0:
        return bool(np.all(np.bincount(cells_of(inputs, symbols, positions), minlength=symbols ** len(positions))))
    one_hot = np.stack([inputs == symbol for symbol in range(symbols)], axis=1).astype(np.float32)  # (m, A, T)
    for middle in combinations(others, max(0, more - 2)):
        if monotonic() > until:
            raise _Late("the time for the search was up")
        cells = cells_of(inputs, symbols, (*positions, *middle))
        free = np.setdiff1d(others, middle)
        for cell in range(symbols ** (len(positions) + len(middle))):
            rows = one_hot[cells == cell][:, :, free]
            seen = rows.any(axis=0)
            if more > 1:  # each two distinct positions show every pair of symbols
                flat = rows.reshape(len(rows), -1)
                pairs = (flat.T @ flat > 0).reshape(symbols, len(free), symbols, len(free)).all(axis=(0, 2))
                seen = pairs[~np.eye(len(free), dtype=bool)]
            if not seen.all():
                return False
    return True
