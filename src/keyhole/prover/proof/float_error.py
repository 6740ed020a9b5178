"""A bound of the error of f computed in a float format, over all words of some classes.

The idea. A plain dense forward pass is followed operation by operation, in two kinds of numbers: how large the exact
ones can be, and how far the computed ones can be from them (`Computed`). Every operation does two things.

1. It carries the errors of its arguments on. An affine map multiplies them by its matrix, so that what cancels in the
   matrix cancels in the error. A norm or an activation multiplies them by its derivative in the middle of a range, and
   adds how far that can change over the range. Softmax turns an error δ of the scores into masses off by e^±δ, which
   move a mean of values by δ times half their range.
2. It adds its own rounding. With u the unit of the format, a sum of n terms, in any order, is off by
   γ_n = n u/(1 − n u) of its absolute terms; a number that is stored, by u of itself.

Before attention there are finitely many rows, so sizes are those of the numbers themselves. After it they are ranges
over all words of a part, which a proof needs anyway. Parts with too large a bound are cut in two where the widest unit
is in the middle of its range, and the largest bound of any part is the answer.

All roundings are taken at their worst and together, so that the bound is often 10³ times what is measured. Sizes are
computed in double precision: by the same count of roundings, their own error is at most 2^−29 of the bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import (
    Activation,
    Affine,
    FactoredScore,
    Head,
    Identity,
    LayerNorm,
    Model,
    PairEmbedding,
    ReLU,
    RMSNorm,
    Softmax,
    Tabulated,
    numbers_of,
)
from keyhole.errors import AssumptionError
from keyhole.languages import AtLength, WordClasses
from keyhole.prover.proof.after_attention import tail_of
from keyhole.prover.proof.curves import Curves, require_known, slopes
from keyhole.prover.proof.lower_bound import Ranges, ranges_over
from keyhole.prover.proof.relaxation import Box
from keyhole.prover.proof.tables import Drift, tables_of
from keyhole.prover.proof.words import CutWords, region_of
from keyhole.rigorous import gamma

FLOAT_UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8}  # formats whose exponents reach to 2^−126
SMALLEST = 2.0**-126
EXP_PLACES, UNITS_OF_ONE = 3.5, 5.0  # units in the last place: of exp itself; of 1, for tanh and erf
EXPONENTIAL = 7.1  # u, of the logarithm of a computed exponential (`Arithmetic.mean`)
GELU_UNITS = 7.6  # u |x|, of a computed GELU (`Arithmetic.activation`)
DOUBLE = 2.0**-50  # what double precision adds to a product of matrices, of its absolute terms, for each term
PAD = 1 + 2.0**-10
PARTS, BATCH = 128, 32  # parts of the classes, and those that are gone through together
MOST_PARTS, MOST_CUTS = 400, 12  # parts looked at in all, and half-spaces of one
FLOAT_ASSUMED = (
    "the float error is that of a plain forward pass: every operation rounds to nearest, sums go in any order, norms "
    f"take the mean first, softmax all scores at once; exp is within {EXP_PLACES:g} units in the last place, tanh and "
    f"erf within {UNITS_OF_ONE:g} units in the last place of 1; nothing over- or underflows"
)


@dataclass(frozen=True, eq=False)
class Computed:
    """Bounds of exact absolute values, and how far the computed numbers are from the exact ones.

    An error is a sum of vectors, each known entry by entry and then mapped by a matrix: Σ_i ε_i A_i + ρ x, |ε_i| ≤ b_i,
    where ρ x lies along the exact numbers. Maps that follow multiply the matrices, so that what cancels in them does,
    and two ways of one error that meet again add theirs.
    """

    size: Float[np.ndarray, "*shape"]
    sources: tuple[tuple[np.ndarray, np.ndarray], ...]  # b_i of shape (…, n) and A_i of shape (…, n, d)
    along: Float[np.ndarray, "*parts"] | float = 0.0  # a bound of |ρ|

    @property
    def error(self) -> Float[np.ndarray, "*shape"]:
        """A bound of every entry of the error."""
        total = np.asarray(self.along)[..., None] * self.size
        return np.asarray(sum((_times(bound, np.abs(matrix)) for bound, matrix in self.sources), total))

    @property
    def reach(self) -> Float[np.ndarray, "*shape"]:
        """A bound of the computed absolute values."""
        return np.asarray(self.size + self.error)

    def mapped(self, weight: Float[np.ndarray, "d k"], size: np.ndarray, bias: np.ndarray) -> "Computed":
        """The image of the error by a matrix; `size` is that of x W + b, so that |x W| ≤ size + |b|."""
        sources = tuple((bound, matrix @ weight) for bound, matrix in self.sources)
        sources += _source(np.asarray(self.along)[..., None] * (size + bias))
        return Computed(size, sources).added(DOUBLE * len(weight) * _times(self.error, np.abs(weight)))

    @property
    def last(self) -> "Computed":
        """The last row, which is that of [CLS]."""
        along = np.broadcast_to(self.along, self.size.shape[:-1])[-1]
        return Computed(self.size[-1], tuple((bound[-1], matrix) for bound, matrix in self.sources), along)

    def added(self, *more: np.ndarray) -> "Computed":
        """With further errors, entry by entry."""
        return replace(self, sources=self.sources + tuple(pair for error in more for pair in _source(error)))


def _times(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Each row times the matrix, which may be another one for each."""
    return np.asarray((rows[..., None, :] @ matrix)[..., 0, :])


def _source(bound: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    return ((bound, np.eye(bound.shape[-1])),) if np.any(bound != 0) else ()


@dataclass(frozen=True)
class Arithmetic:
    """A float format by its unit u, half the distance from 1 to the next number."""

    unit: float

    def gamma(self, terms: int) -> float:
        """γ_n of the format."""
        return gamma(terms, unit=self.unit)

    def stored(self, exact: np.ndarray) -> Computed:
        """Numbers rounded once."""
        return Computed(np.abs(exact), _source(self.unit * np.abs(exact)))

    def total(self, one: Computed, other: Computed) -> Computed:
        """A sum of two; an error that reaches it in two ways adds its matrices."""
        merged = list(one.sources)
        for bound, matrix in other.sources:
            same = [index for index, (known, _) in enumerate(merged) if known is bound]
            if same:
                merged[same[0]] = (bound, merged[same[0]][1] + matrix)
            else:
                merged.append((bound, matrix))
        both = Computed(one.size + other.size, tuple(merged))
        both = both.added(*(np.asarray(x.along)[..., None] * x.size for x in (one, other)))
        return both.added(self.unit * both.reach)

    def affine(self, x: Computed, map_: Affine, size: np.ndarray | None = None) -> Computed:
        """The image x W + b: γ_(n+1) of the absolute terms, and what x is off."""
        weight = numbers_of(map_.weight)
        bias = np.zeros(weight.shape[1]) if map_.bias is None else np.abs(numbers_of(map_.bias))
        size = x.size @ np.abs(weight) + bias if size is None else size
        return x.mapped(weight, size, bias).added(self.gamma(len(weight) + 1) * (x.reach @ np.abs(weight) + bias))

    def norm(
        self, x: Computed, norm: LayerNorm, centred: np.ndarray, least: np.ndarray, size: np.ndarray | None = None
    ) -> Computed:
        """A norm of rows whose centred entries are at most `centred` and whose spread is at least `least`.

        Statement  With e the error of centred entries and r = rms(e)/least, the computed spread is off by a relative
                   ρ = r + γ_(d/2+4) (1 + r) at most; a quotient z is off by e/(least (1 − ρ)), by ρ/(1 − ρ) z along
                   itself, and by its own rounding.
        Proof      √(variance + ε) is the Euclidean norm of (centred/√d, √ε), so that moving entries by e moves it by
                   rms(e). Squares, sum, mean: d + 4 roundings of positive terms, which the root halves.
                   ĉ/ŝ − c/s = (ĉ − c)/ŝ + (s/ŝ − 1) z.
        Source     Ours.
        """
        d, gain = x.size.shape[-1], numbers_of(norm.gain)
        bias = np.zeros(d) if norm.bias is None else np.abs(numbers_of(norm.bias))
        rows = self._centred(x, norm, centred)
        error = rows.error
        moved = np.sqrt((error * error).mean(axis=-1)) / least
        lost = moved + self.gamma(d // 2 + 4) * (1 + moved)
        lost = np.where(lost < 0.5, lost, np.nan)  # half of the spread may be lost: nothing is known
        ratio, below = lost / (1 - lost), 1 / (least * (1 - lost))
        quotient = np.minimum(centred / least[..., None], sqrt(d))
        sources = tuple((bound * below[..., None], matrix * gain) for bound, matrix in rows.sources)
        size = quotient * np.abs(gain) + bias if size is None else size
        # along z · gain = y − bias: along y, and what that adds of the bias
        computed = Computed(size, sources, ratio).added(ratio[..., None] * bias)
        return computed.added(self.gamma(4) * (computed.reach + 2 * bias))

    def norm_over(self, x: Computed, norm: LayerNorm, box: Box) -> Computed:
        """A norm of rows anywhere in a box.

        Statement  With e the error of centred entries, the normed rows are off by e J(ξ), column by column for some ξ
                   within e of the box, J(ξ) = (I − z zᵀ/d) diag(gain)/s, z = ξ/s, s = √(mean ξ² + ε); by γ/(1 − γ),
                   γ = γ_(d/2+4), of z gain; and by their own rounding.
        Proof      J is the derivative of ξ ↦ gain ξ/s, since ds = ⟨z, dξ⟩/d: the mean value theorem. The computed s is
                   off by γ, as in `norm`. With z and 1/s within radii of a middle, J is within what is added here of
                   its middle, whose sign is kept.
        Source     Ours.
        """
        d, gain = x.size.shape[-1], numbers_of(norm.gain)
        bias = np.zeros(d) if norm.bias is None else np.abs(numbers_of(norm.bias))
        rows = self._centred(x, norm, np.maximum(-box.low, box.high))
        error = rows.error
        moved = np.sqrt((error * error).mean(axis=-1))
        least = np.where(moved < box.least / 2, box.least - moved, np.nan)  # more may be lost: nothing is known
        inverse = np.stack([1 / (box.most + moved), 1 / least])
        ends = np.stack([(box.low - error) * inverse[..., None], (box.high + error) * inverse[..., None]])
        low, high = (np.clip(end, -sqrt(d), sqrt(d)) for end in (ends.min(axis=(0, 1)), ends.max(axis=(0, 1))))
        z, about = (low + high) / 2, (high - low) / 2
        q, width = inverse.mean(axis=0)[..., None, None], (inverse[1] - inverse[0])[..., None, None] / 2
        column, row = (np.abs(z)[..., :, None], about[..., :, None]), (np.abs(z)[..., None, :], about[..., None, :])
        project = np.eye(d) - z[..., :, None] * z[..., None, :] / d
        loose = width * np.abs(project) + (q + width) / d * (
            column[0] * row[1] + column[1] * row[0] + column[1] * row[1]
        )
        sources = tuple((bound, matrix @ (q * project * gain)) for bound, matrix in rows.sources)
        sources += _source(_times(error, (loose + 2 * d * DOUBLE * (q + width)) * np.abs(gain)))
        lost = self.gamma(d // 2 + 4) / (1 - self.gamma(d // 2 + 4))
        sources += ((np.full((*z.shape[:-1], 1), lost), (z * gain)[..., None, :]),)
        sources += _source(lost * about * np.abs(gain))
        computed = Computed((np.abs(z) + about) * np.abs(gain) + bias, sources)
        return computed.added(self.gamma(4) * (computed.reach + 2 * bias))

    def _centred(self, x: Computed, norm: LayerNorm, size: np.ndarray) -> Computed:
        """Rows less their mean, where the norm takes it off; `size` is that of the exact ones."""
        d = x.size.shape[-1]
        rows = Computed(size, x.added(np.asarray(x.along)[..., None] * x.size).sources)
        if isinstance(norm, RMSNorm):
            return rows
        rows = rows.mapped(np.eye(d) - 1 / d, size, np.zeros(d))
        mean = self.gamma(d + 1) * x.reach.mean(axis=-1)[..., None] * np.ones(d)
        return rows.added(mean, self.unit * (rows.reach + mean))

    def activation(self, x: Computed, kind: Activation, lines: Curves) -> Computed:
        """σ of every entry, whose exact arguments are within the range of the lines.

        Statement  Off by a slope times what the argument is off, and by its own rounding: 7.6u of |x| for GELUs.
        Assumes    tanh and erf are off by 10u at most, u ≤ 2^−8; x³ by 4u of itself.
        Proof      The slope is one between the ends of the range widened by the error (`slopes`). In x(1 + tanh t)/2
                   the argument t = c(x + kx³) is off by (3 + 6s)u of itself, s the share of kx³: k, x³ by 4u and a
                   product in that; a sum, c and a product in all. That moves tanh by (3 + 6s)u t/cosh² t. With the
                   roundings of the sum and of the product it is |x|/2 ((3 + 6s) t/cosh² t + 10 + 2(1 + tanh t))u, at
                   most 7.48u |x|, near x = 1.29; terms in u² make it 7.52u |x| at u = 2^−8. In x(1 + erf t)/2 the
                   argument t = x/√2 is off by 2u, and the whole by 7.31u |x| at most.
        Source     Ours. The tests set GELUs of numpy, scipy, torch and transformers beside it. The erf in torch's own
                   is formula 7.1.26 of Abramowitz and Stegun, and its GELU off by more than 5u |x|.
        """
        require_known(kind)
        error = x.error
        middle, radius = slopes(kind, lines.grid[0] - error, lines.grid[-1] + error)
        reached = x.sources + _source(np.asarray(x.along)[..., None] * x.size)
        sources = tuple((bound, matrix * middle[..., None, :]) for bound, matrix in reached)
        computed = Computed(lines.size, sources).added(radius * error)
        return computed if isinstance(kind, ReLU | Identity) else computed.added(GELU_UNITS * self.unit * x.reach)

    def mean(self, off: float, spread: float, values: Computed, half: np.ndarray, tokens: int) -> Computed:
        """A mean of values by softmax weights, over any choice of a symbol at each position.

        Statement  Off by a mean of the values' errors, ε h and γ_(2n+2) max|v| at most, for scores off by δ and with
                   range R, ε = δ + u (R + 2δ) + 7.1u, h half the range of the values.
        Assumes    exp is within 3.5 units in the last place, u ≤ 2^−8: numpy's is, and torch's, plain and fused.
        Proof      The shift by the largest score cancels. A unit in the last place is 2u of a number at most, and
                   −ln(1 − 7u) ≤ 7.1u. So a mass is off by a factor within e^±ε, and masses moved so
                   move a mean by ε h: its rate is a covariance, at most the product of the standard deviations. Sum of
                   masses, quotient, sum of products: 2n + 2 roundings. What underflows is below n · 2^−126 of the mass.
        Source     Ours.
        """
        masses = off + self.unit * (spread + 2 * off) + EXPONENTIAL * self.unit
        sources = tuple((bound.max(axis=0), matrix) for bound, matrix in values.sources)
        lost = self.gamma(2 * tokens + 2) + 2 * tokens * SMALLEST
        return Computed(values.size.max(axis=0), sources).added(masses * half, lost * values.reach.max(axis=0))


def float_error(
    model: Model,
    tabulated: Tabulated,
    words: AtLength,
    gross: tuple[Float[np.ndarray, "d"], float],
    *,
    unit: float,
    drifts: Sequence[Drift] | None = None,
    enough: float = 0.0,
    late: Callable[[], bool] = lambda: False,
) -> float:
    """A bound of |computed f − f| over all words of the classes, for a pass in the format with the unit.

    `words` has the positions of the model that show a word, and the classes. Classes whose bound exceeds `enough` are
    split until it does not, the part limit is reached, or it is late: the result is the largest remaining bound,
    infinite where a class was not reached.

    `gross` has the absolute numbers of the read-out: for a difference of two logits, those of both, since each is a sum
    of its own and only then compared.

    Statement  No input whose symbols at `reads` are a word of a class has a computed f further than this from f.
    Assumes    `FLOAT_ASSUMED`; rows are one rounded sum of two stored vectors; the wiring of `checkpoints.one_layer`.
    Proof      Each operation adds its own rounding to what its arguments are off (`Arithmetic`).
    Source     Ours; the calculus is Higham's.
    """
    block, format_ = model.blocks[0], Arithmetic(unit)
    wiring = block.wiring
    if not isinstance(model.embedding, PairEmbedding) or wiring.residual != "each" or wiring.join != "concatenate":
        raise AssumptionError(
            "The float error is known for checkpoints whose rows are sums and whose heads are joined."
        )
    table = numbers_of(model.embedding.table)
    exact = np.concatenate([table.reshape(-1, table.shape[-1]), numbers_of(model.embedding.cls)[None]])
    rows = format_.stored(exact)
    entering, computed, norm = exact, rows, wiring.attention_norm
    if wiring.placement == "pre" and norm is not None:
        centred = exact if isinstance(norm, RMSNorm) else exact - exact.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1) + norm.eps)
        entering = np.asarray(norm(exact))
        computed = format_.norm(rows, norm, np.abs(centred), spread, np.abs(entering))
    means = [_head(format_, head, entering, computed, table.shape[0] + 1) for head in block.heads]
    before, sources = 0, []
    width = sum(len(mean.size) for mean in means)
    for mean in means:  # outputs of all heads in one row
        after = width - before - len(mean.size)
        sources += [(bound, np.pad(matrix, ((0, 0), (before, after)))) for bound, matrix in mean.sources]
        before += len(mean.size)
    outputs = Computed(np.concatenate([mean.size for mean in means]), tuple(sources))
    tail, tables = tail_of(tabulated), tables_of(tabulated, words.reads, drifts)
    places = tuple(tables.row(position) for position in words.reads)
    weight = numbers_of(model.readout.weight)

    def off(some: Sequence[CutWords]) -> tuple[np.ndarray, Ranges]:
        """Return the error of a pass over each part; 0 over one that its ranges show to hold no word."""
        region = region_of(tables, places, some)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ranges = ranges_over(tables, tail, region)
            y = _after_attention(format_, model, outputs, rows.last, ranges)
            size = (y.size @ np.abs(weight))[..., None]
            error = y.mapped(weight[:, None], size, np.zeros(1)).error[..., 0]
            error = error + format_.gamma(len(weight) + 2) * (y.reach @ gross[0] + gross[1])
        empty = (ranges.lines.grid[0] > ranges.lines.grid[-1]).any(axis=-1)
        for box in ranges.boxes:
            empty = empty | (box.low > box.high).any(axis=-1) | (box.least > box.most)
        return np.where(empty, 0.0, np.nan_to_num(error, nan=np.inf) * PAD), ranges

    whole: list[WordClasses] = []
    parts = [some.take([part]) for _, some in words.classes for part in range(some.count)]
    while parts and len(parts) + len(whole) < PARTS:  # smaller parts have narrower ranges
        halves = [part.halves(0) for part in parts]
        whole += [part for part, cut in zip(parts, halves, strict=True) if cut is None]
        parts = [cut.take([index]) for cut in halves if cut is not None for index in range(cut.count)]
    return _worst([CutWords(part) for part in whole + parts], off, enough, late)


def _worst(
    waiting: list[CutWords],
    off: Callable[[Sequence[CutWords]], tuple[np.ndarray, Ranges]],
    enough: float,
    late: Callable[[], bool],
) -> float:
    """The largest error over all parts; those with the largest are cut while it is more than enough.

    A part is cut where its unit with the widest range, times what it writes, is in the middle of that range. Once it is
    late, a part that was not looked at has the error of the part it was cut off.
    """
    settled, looked_at = list[CutWords](), 0
    while waiting:
        for start in range(0, len(waiting), BATCH):
            if late():
                return max(part.bound for part in [*settled, *waiting[start:]])
            some = waiting[start : start + BATCH]
            errors, ranges = off(some)
            units, box, grid = ranges.tail.units, ranges.box, ranges.lines.grid
            halved = [(np.zeros(0), 0.0)] * len(some)  # without units, nothing is cut
            if grid.shape[2]:
                reach = (grid[-1] - grid[0]) * np.abs(units.outer.mid).sum(axis=1)
                which = np.nan_to_num(reach, nan=0.0, posinf=0.0).argmax(axis=1)
                place = (grid[0] + grid[-1])[np.arange(len(some)), which] / 2
                spread = 1.0 if box is None else (box.least + box.most) / 2
                level = (place - units.bias.mid[which]) * spread - units.shift.mid[which]
                halved = list(zip(units.matrix.mid[:, which].T, level.tolist(), strict=True))
            settled += [
                replace(part, bound=min(part.bound, float(error)), at=at)
                for part, error, at in zip(some, errors, halved, strict=True)
            ]
        looked_at += len(waiting)
        settled.sort(key=lambda part: part.bound)
        waiting = []
        while settled and settled[-1].bound > enough and len(waiting) < BATCH and looked_at < MOST_PARTS:
            if not len(settled[-1].at[0]) or len(settled[-1].cuts) >= MOST_CUTS:
                break
            waiting += settled.pop().halves()
    return settled[-1].bound


def _head(format_: Arithmetic, head: Head, exact: np.ndarray, rows: Computed, tokens: int) -> Computed:
    """One head's output over all words; the last row asks."""
    score, value, normaliser = head.score, head.value, head.normaliser
    if (
        not isinstance(score, FactoredScore)
        or not isinstance(value, Affine)
        or not isinstance(normaliser, Softmax)
        or normaliser.temperature != 1.0
    ):
        raise AssumptionError("The float error is known for heads with queries, keys, affine values and softmax.")
    queries, keys = Affine(score.query, score.query_bias), Affine(score.key, score.key_bias)
    query, key, values = (np.asarray(map_(exact)) for map_ in (queries, keys, value))
    width = query.shape[1]
    asking = format_.affine(rows.last, queries, np.abs(query[-1]))
    keyed = format_.affine(rows, keys, np.abs(key))
    scores = key @ query[-1] / sqrt(width)
    off = keyed.error @ asking.reach + keyed.size @ asking.error
    off = (off + format_.gamma(width + 3) * (keyed.reach @ asking.reach)) / sqrt(width)
    valued = format_.affine(rows, value, np.abs(values))
    half = np.ptp(values, axis=0) / 2
    return format_.mean(float(off.max()), float(np.ptp(scores)), valued, half, tokens)


def _after_attention(
    format_: Arithmetic, model: Model, outputs: Computed, stream: Computed, ranges: Ranges
) -> Computed:
    """The row that is read out, over each part, from the outputs of the heads and the row that asks."""
    wiring = model.blocks[0].wiring
    boxes = iter(ranges.boxes)

    def normed(x: Computed, norm: LayerNorm | None) -> Computed:
        if norm is None:
            return x
        return format_.norm_over(x, norm, next(boxes))

    x = outputs if wiring.output is None else format_.affine(outputs, wiring.output)
    x = format_.total(x, stream)
    pre, feed = wiring.placement == "pre", wiring.feedforward
    x = x if pre else normed(x, wiring.attention_norm)
    if feed is not None:
        before = normed(x, wiring.feedforward_norm) if pre else x
        units = np.maximum(-ranges.lines.grid[0], ranges.lines.grid[-1])
        before = before if feed.inner is None else format_.affine(before, feed.inner, units)
        after = format_.activation(before, feed.activation, ranges.lines)
        after = after if feed.outer is None else format_.affine(after, feed.outer)
        x = format_.total(x, after)
        x = x if pre else normed(x, wiring.feedforward_norm)
    return normed(x, model.readout.norm)
