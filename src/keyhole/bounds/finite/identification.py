"""Exact identification: how many samples leave no rival, given how many rivals there are at each distance.

The admissible functions are the juntas on at most s of T uniform bits. A certificate is issued for a
function that fits all samples and each of whose cells was seen; it is wrong if that function is a rival.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, permutations, product
from math import ceil, comb, exp, log, log1p
from typing import NamedTuple

from keyhole.bounds.finite.occam import junta_nats
from keyhole.bounds.validate import Real, failure, subset_size

Table = tuple[int, ...]  # 2^n entries 0 or 1; the first variable is the least significant bit
Counts = dict[float, int]  # how many functions disagree with the target with this probability

EXACT_UP_TO = 3  # every target of so many variables is tried; beyond, only the crude size is given


class Rivals(NamedTuple):
    """So many functions disagree with the target with this probability, a multiple of a power of ½."""

    distance: float
    functions: int


def _shared(assignment: int, positions: tuple[int, ...]) -> int:
    return sum(((assignment >> position) & 1) << i for i, position in enumerate(positions))


def _any(table: Table, shared: tuple[int, ...], fresh: int, cells_of: tuple[int, ...], *, witnessed: bool) -> Counts:
    """Functions of the shared variables and of `fresh` others, by distance from the target.

    A function answers 0 or 1 in each of its cells, and disagrees with the target on the mass of the other
    answer: the distances are all sums of one choice per cell. If cells must be witnessed, a choice has to
    agree with the target somewhere in every cell of the variables `cells_of`, or no sample it fits could
    have visited that cell.
    """
    masses = [[0.0, 0.0] for _ in range(2 ** len(cells_of))]
    for assignment, answer in enumerate(table):
        masses[_shared(assignment, cells_of)][answer] += 1 / len(table)
    within = tuple(cells_of.index(position) for position in shared)
    counts: Counts = {0.0: 1}
    for cell in range(2 ** len(shared)):
        parts = [mass for finer, mass in enumerate(masses) if _shared(finer, within) == cell]
        answers = [answer for answer in (0, 1) if not witnessed or all(part[answer] > 0 for part in parts)]
        costs = [sum(part[1 - answer] for part in parts) / 2**fresh for answer in answers]
        for _ in range(2**fresh):
            grown: Counts = {}
            for cost, (distance, functions) in product(costs, counts.items()):
                grown[distance + cost] = grown.get(distance + cost, 0) + functions
            counts = grown
    return counts


@lru_cache(maxsize=4096)
def _essential(
    table: Table, shared: tuple[int, ...], fresh: int, cells_of: tuple[int, ...], *, witnessed: bool
) -> tuple[tuple[float, int], ...]:
    """As `_any`, but only functions that depend on each of their variables: the others are taken away."""
    counts = _any(table, shared, fresh, cells_of, witnessed=witnessed)
    for kept in range(len(shared) + 1):
        for fewer in combinations(shared, kept):
            for some in range(fresh + (kept < len(shared))):
                for distance, functions in _essential(table, fewer, some, cells_of, witnessed=witnessed):
                    counts[distance] = counts.get(distance, 0) - comb(fresh, some) * functions
    return tuple((distance, functions) for distance, functions in counts.items() if functions)


def rival_spectrum(table: Table, context: int, sparsity: int, *, witnessed: bool = False) -> tuple[Rivals, ...]:
    """How many admissible functions lie at each distance from a target, the target itself left out.

    Statement  Of the juntas on ≤ s of T uniform bits, so many disagree with the target with each probability.
               With `witnessed`, only those that could fit a sample that visits every one of their cells.
    Proof      A junta that depends on exactly the variables K of the target and q fresh ones is a choice of
               answer per cell, its distance the sum of what each choice costs; inclusion and exclusion
               removes those that depend on fewer. There are C(T − n, q) choices of the fresh ones.
    Equality   A count.
    Source     Ours.

    >>> sum(rivals.functions for rivals in rival_spectrum((0, 0, 0, 1), 8, 2)) + 1
    298
    """
    n, total = len(table).bit_length() - 1, Counts()
    for kept in range(n + 1):
        for shared in combinations(range(n), kept):
            for extra in range(min(sparsity - kept, context - n) + 1):
                for distance, functions in _essential(table, shared, extra, shared, witnessed=witnessed):
                    total[distance] = total.get(distance, 0) + functions * comb(context - n, extra)
    total[0.0] = total.get(0.0, 0) - 1  # the target is not its own rival
    return tuple(Rivals(distance, functions) for distance, functions in sorted(total.items()) if functions)


def rival_chance(spectrum: tuple[Rivals, ...], samples: int) -> float:
    """Expected number of rivals that fit m samples, Σ count·(1 − distance)^m: a union bound.

    >>> round(rival_chance(rival_spectrum((0, 0, 0, 1), 8, 2), 28), 4)
    0.009
    """
    fitting = [rivals.functions * exp(samples * log1p(-rivals.distance)) for rivals in spectrum if rivals.distance < 1]
    return float(sum(fitting))


def essential_targets(variables: int) -> Iterator[Table]:
    """One function of exactly so many variables from each class under permuting and negating the inputs."""
    met: set[Table] = set()
    inputs = range(2**variables)
    for code in range(2**2**variables):
        table = tuple((code >> i) & 1 for i in inputs)
        if table in met:
            continue
        for order in permutations(range(variables)):
            moved = [_shared(i, order) for i in inputs]
            met |= {tuple(table[j ^ flip] for j in moved) for flip in inputs}
        if all(any(table[i] != table[i ^ (1 << v)] for i in inputs) for v in range(variables)):
            yield table


def smallest_samples(spectrum: tuple[Rivals, ...], delta: Real) -> int:
    """Fewest samples at which the expected number of fitting rivals is ≤ δ."""
    allowed, samples = failure(delta), 1
    while rival_chance(spectrum, samples) > allowed:
        samples *= 2
    low = samples // 2
    while samples - low > 1:
        middle = (low + samples) // 2
        low, samples = (low, middle) if rival_chance(spectrum, middle) <= allowed else (middle, samples)
    return samples


@lru_cache(maxsize=256)
def identification_size(context: int, sparsity: int, delta: float = 0.01, *, witnessed: bool = True) -> int:
    """Samples at which a fitting junta, all of whose cells were seen, is the target: m_id, for uniform bits.

    Without `witnessed` the rule that all its cells were seen is dropped, which takes more samples.

    Statement  For every target on ≤ s of T uniform bits, some rival fits m ≥ m_id samples and has all its
               cells seen among them with probability ≤ δ.
    Assumes    The target is a junta on at most s variables; the sample cannot tell whether that is so.
    Proof      Union over the rivals that can be issued at all, at their distances, for the worst target, all
               being tried up to permuting and negating inputs. For s > 3: |H|(1 − 2^{−s})^m ≤ δ, since
               distinct s-juntas differ with probability ≥ 2^{−s}.
    Source     Ours.

    >>> identification_size(8, 2)
    28
    """
    subset_size(context, sparsity)
    if sparsity > EXACT_UP_TO:
        largest = junta_nats(context, sparsity)
        ratios = sum(exp(junta_nats(context, j) - largest) for j in range(sparsity + 1))
        size = largest + log(ratios) - log(failure(delta))
        return ceil(size / -log1p(-(2.0**-sparsity)))
    return max(
        smallest_samples(rival_spectrum(table, context, sparsity, witnessed=witnessed), delta)
        for variables in range(min(sparsity, context) + 1)
        for table in essential_targets(variables)
    )
