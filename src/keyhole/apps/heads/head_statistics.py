"""Statistics of attention on data: how spread the weights are, how near, and how much goes to sinks.

A row has weights a over the n keys that it may see. Each number is averaged over the rows of an input, and then over
inputs, each counting once. Every number is there twice: with all keys, and with the sinks taken out (neither
rows nor keys are sinks, and the weights of a row are divided by what is left of their sum).
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from keyhole.apps.heads.transformers_maps import Runs
from keyhole.arrays import Bool, Float, Int
from keyhole.checkpoints import Maps
from keyhole.errors import DataError
from keyhole.progress import Progress, Watch, ignore

USE: Mapping[str, str] = MappingProxyType(
    {
        "entropy": "entropy / log n",
        "support": "effective support, e to the entropy",
        "share": "effective support / n",
        "largest": "largest weight",
        "distance": "total variation from uniform",
        "self": "weight on the row itself",
        "previous": "weight on the row before (rows that have one)",
        "next": "weight on the row after (rows that have one)",
        "first": "weight on the first row",
        "sink": "weight on sinks",
    }
)
NAMES = tuple(USE)
VERDICTS = ("sparse", "local", "sink", "broad", "near-uniform")
SINK, UNIFORM, LOCAL, SPARSE = 0.5, 0.95, 0.5, 0.25
RULE = (
    f"sink: at least {SINK:g} of the weight on sinks. Otherwise, with sinks taken out, the first that fits: "
    f"near-uniform, H/log n at least {UNIFORM:g} (H: entropy; n: rows that a query may see); local, at least "
    f"{LOCAL:g} of the weight on the row itself and its two neighbours (only where rows are a sequence); sparse, e^H/n "
    f"at most {SPARSE:g}; else broad. Each is judged by means over inputs."
)


@dataclass(frozen=True, eq=False)
class Given:
    """One input of a model: its rows, which of them are sinks, and which are looked at as queries."""

    rows: Float[np.ndarray, "T d"]
    sinks: Bool[np.ndarray, "T"]
    queries: Bool[np.ndarray, "T"] | None = None  # all, if not given


@dataclass(frozen=True, eq=False)
class HeadUse:
    """The statistics of every head on every input: with sinks, and without; not a number where no row has one."""

    kept: Float[np.ndarray, "inputs layers heads statistics"]
    without: Float[np.ndarray, "inputs layers heads statistics"]
    ordered: bool  # whether rows are a sequence

    def mean(self, statistic: str, *, sinks: bool) -> Float[np.ndarray, "layers heads"]:
        """Average a statistic over the inputs that have it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a head that no input has a row for
            return np.asarray(np.nanmean(self._values(statistic, sinks=sinks), axis=0))

    def spread(self, statistic: str, *, sinks: bool) -> Float[np.ndarray, "2 layers heads"]:
        """Return its 5 % and 95 % quantiles over inputs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanquantile(self._values(statistic, sinks=sinks), (0.05, 0.95), axis=0))

    def _values(self, statistic: str, *, sinks: bool) -> Float[np.ndarray, "inputs layers heads"]:
        return (self.kept if sinks else self.without)[..., NAMES.index(statistic)]

    def verdicts(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Return for each layer and head the verdict, and that of its weights without the sinks."""
        sink = self.mean("sink", sinks=True)
        entropy, share = self.mean("entropy", sinks=False), self.mean("share", sinks=False)
        near = np.sum([self.mean(name, sinks=False) for name in ("self", "previous", "next")], axis=0)
        rows = []
        for layer in range(sink.shape[0]):
            row = []
            for head in range(sink.shape[1]):
                at = layer, head
                rest = verdict(float(entropy[at]), float(share[at]), float(near[at]) if self.ordered else 0.0)
                row.append(("sink" if sink[at] >= SINK else rest, rest))
            rows.append(tuple(row))
        return tuple(rows)


def verdict(entropy: float, share: float, near: float) -> str:
    """Return the first verdict that fits a head's averages without sinks, by the rule of this file.

    >>> verdict(0.99, 0.97, 0.1), verdict(0.3, 0.2, 0.8), verdict(0.3, 0.2, 0.1), verdict(0.8, 0.6, 0.2)
    ('near-uniform', 'local', 'sparse', 'broad')
    """
    if np.isnan(entropy):  # every row has all its weight on sinks
        return "nothing left"
    if entropy >= UNIFORM:
        return "near-uniform"
    if near >= LOCAL:
        return "local"
    return "sparse" if share <= SPARSE else "broad"


def head_use(
    model: Runs,
    lengths: Sequence[int],
    give: Callable[[int], Given],
    *,
    ordered: bool = True,
    watch: Watch = ignore,
) -> HeadUse:
    """Measure every head on inputs of these lengths; `give` makes one when its batch is run.

    Only the numbers of each input are kept, so that a corpus may be long.
    """
    if not lengths:
        raise DataError("No input was given; give at least one.")
    sizes = model.checkpoint.sizes
    kept = np.full((len(lengths), sizes.layers, sizes.heads, len(NAMES)), np.nan)
    without = kept.copy()
    done, enough = 0, False
    for batch in batches(lengths):
        given = [give(index) for index in batch]
        rows, visible = filled([each.rows for each in given])
        sinks, queries = np.zeros_like(visible), visible.copy()
        for number, each in enumerate(given):
            sinks[number, : len(each.sinks)] = each.sinks
            if each.queries is not None:
                queries[number, : len(each.queries)] = each.queries
        clear = queries if any(each.queries is not None for each in given) else queries & ~sinks
        allowed = np.broadcast_to(visible[:, None, :], (*visible.shape, visible.shape[1]))
        allowed = allowed & np.tri(visible.shape[1], dtype=bool) if model.checkpoint.causal else allowed
        both = (kept, allowed, queries), (without, allowed & ~sinks[:, None, :], clear)
        enough = enough or bool((clear & (both[1][1].sum(axis=-1) >= 2)).any())

        def look(layer: int, maps: Maps, batch: Any = batch, both: Any = both, sinks: Any = sinks) -> None:
            for table, keys, rows in both:
                table[batch, layer] = row_statistics(maps, keys, rows, sinks)

        model.run(rows, visible, look)
        done += len(batch)
        watch(Progress(done, len(lengths), f"inputs of up to {rows.shape[1]} rows"))
    if not enough:
        raise DataError(
            "No input has two rows that are not sinks, so weights have nothing to choose from; give longer ones."
        )
    return HeadUse(kept, without, ordered)


def row_statistics(
    maps: Maps, allowed: Bool[np.ndarray, "batch T T"], queries: Bool[np.ndarray, "batch T"], sinks: np.ndarray
) -> Float[np.ndarray, "batch heads statistics"]:
    """Average each statistic of each input and head over its rows of at least two keys.

    Weights of keys that are not allowed are left out, and the others divided by their sum; a row of which nothing is
    left does not count.
    """
    keys = allowed.sum(axis=-1)  # (batch, T)
    weights = np.where(allowed[:, None], maps, 0.0).astype(np.float64)
    total = weights.sum(axis=-1, keepdims=True)
    weights /= np.where(total > 0, total, 1.0)
    rows = (queries & (keys >= 2))[:, None] & (total[..., 0] > 0)  # (batch, heads, T)
    n = np.maximum(keys, 2)[:, None]
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)
    support = np.exp(entropy)
    apart = np.where(allowed[:, None], np.abs(weights - 1 / n[..., None]), 0.0).sum(axis=-1) / 2
    T = maps.shape[-1]
    at = np.arange(T)
    statistics = {
        "entropy": (entropy / np.log(n), rows),
        "support": (support, rows),
        "share": (support / n, rows),
        "largest": (weights.max(axis=-1), rows),
        "distance": (apart, rows),
        "self": (weights[:, :, at, at], rows),
        "previous": (_beside(weights, -1), rows & _beside(allowed[:, None], -1)),
        "next": (_beside(weights, 1), rows & _beside(allowed[:, None], 1)),
        "first": (weights[..., 0], rows),
        "sink": ((weights * sinks[:, None, None, :]).sum(axis=-1), rows),
    }
    means = []
    for values, where in (statistics[name] for name in NAMES):
        counted, total = where.sum(axis=-1), (values * where).sum(axis=-1)
        means.append(np.where(counted > 0, total / np.maximum(counted, 1), np.nan))  # NaN if no row counts
    return np.stack(means, axis=-1)


def batches(lengths: Sequence[int], cells: int = 2**17) -> Iterator[list[int]]:
    """Yield indices of inputs in batches of like lengths, (longest)² · inputs ≤ `cells`, so that maps stay small.

    >>> list(batches([3, 10, 3, 2], cells=100))
    [[3, 0, 2], [1]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda each: lengths[each]):
        if batch and lengths[index] ** 2 * (len(batch) + 1) > cells:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def filled(parts: Sequence[np.ndarray]) -> tuple[Float[np.ndarray, "batch T d"], Bool[np.ndarray, "batch T"]]:
    """Return rows of several inputs as one batch, filled up with zeros, and which rows are real."""
    longest = max(len(part) for part in parts)
    rows = np.zeros((len(parts), longest, parts[0].shape[1]))
    visible = np.zeros((len(parts), longest), dtype=bool)
    for number, part in enumerate(parts):
        rows[number, : len(part)] = part
        visible[number, : len(part)] = True
    return rows, visible


def word_maps(maps: Float[np.ndarray, "heads T T"], words: Int[np.ndarray, "T"]) -> Float[np.ndarray, "heads W W"]:
    """Return maps between words: summed over the pieces attended to, averaged over those that attend."""
    member = (words[:, None] == np.arange(words.max() + 1)).astype(maps.dtype)
    return np.asarray((member / member.sum(axis=0)).T @ maps @ member)


def _beside(table: np.ndarray, step: int) -> np.ndarray:
    """Return entry (t, t + step) of each table, or zero."""
    weights = np.zeros(table.shape[:-1], dtype=table.dtype)
    diagonal = np.diagonal(table, offset=step, axis1=-2, axis2=-1)
    if step < 0:
        weights[..., -step:] = diagonal
    else:
        weights[..., : weights.shape[-1] - step] = diagonal
    return weights
