"""A batch of sequences through tables: one matrix product where scores allow it, a softmax where not.

With e = exp(s − shift) a softmax head is (Σ_t e[t, b_t] v[t, b_t])/(Σ_t e[t, b_t]): for a one-hot batch of
shape (n, T·A) both sums, of all heads, are one product with [e·v, e]. There are no keys and no weights of
shape (n, T). Numerator and mass are sums over pairs (t, a), never a difference of tables, so the mass is a
sum of positive terms and nothing cancels.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from keyhole.arrays import Float, Shaped
from keyhole.attention.normalisers import Softmax
from keyhole.attention.tables import Tabulated, TabulatedHead, dense
from keyhole.attention.tokens import require_symbols
from keyhole.attention.types import Array, numbers_of
from keyhole.errors import AssumptionError

BLOCK = 2**23  # numbers held at once beside the tables


def evaluate(tabulated: Tabulated, sequences: Shaped[Any, "*batch T"]) -> Float[Any, "*batch"]:
    """The model's number for one sequence (T,) or each of a batch (n, T), by whichever route is safe.

    The product is taken when the tables are known to lie in its safe range. Under a jax transformation
    nothing is known of them, and the softmax at [CLS] is taken. Call `evaluate_by_product` to choose
    the method yourself.
    """
    return Evaluator(tabulated)(sequences)


class TokenTerms(NamedTuple):
    """[e·v, e] of every head, side by side: what a sequence sums up."""

    table: Float[Any, "rows A columns"]  # of every stored row and symbol
    own: Float[Any, "columns"]  # of [CLS]


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A model that is evaluated many times: its exponentials are computed once, when first needed."""

    model: Tabulated

    @cached_property
    def terms(self) -> TokenTerms:
        """The terms that a sequence sums up, for every stored row."""
        return token_terms(self.model)

    @cached_property
    def terms_by_position(self) -> TokenTerms:
        """The same with a row for every position."""
        table, own = self.terms
        return TokenTerms(table if self.model.positions is None else table[self.model.rows], own)

    def __call__(self, sequences: Shaped[Any, "*batch T"]) -> Float[Any, "*batch"]:
        """The model's number for one sequence or each of a batch, as `evaluate` gives it."""
        if is_safe(self.model):
            return evaluate_by_product(self.model, sequences, self.terms)
        return evaluate_by_softmax(self.model, sequences)


def evaluate_by_product(
    tabulated: Tabulated, sequences: Shaped[Any, "*batch T"], terms: TokenTerms | None = None
) -> Float[Any, "*batch"]:
    """The factorised evaluation; right where `is_safe` holds, which it does not ask.

    `terms` are those of the model, if they were computed before. The rows that the last one serves are counted.
    """
    table, own = token_terms(tabulated) if terms is None else terms
    xp, batch = array_namespace(tabulated.stream), _as_batch(tabulated, sequences)
    total = own[None, :]
    if tabulated.positions is None:
        total = total + _one_hot_product(batch, table)
    else:
        relevant = xp.take(batch, xp.asarray(tabulated.positions, dtype=xp.arange(1).dtype), axis=1)
        counts = xp.astype(_counts(batch, tabulated.symbols) - _counts(relevant, tabulated.symbols), table.dtype)
        total = total + (_one_hot_product(relevant, table[:-1, :, :]) + counts @ table[-1, :, :])
    return xp.reshape(from_terms(tabulated, total), tuple(sequences.shape[:-1]))


def token_terms(tabulated: Tabulated) -> TokenTerms:
    """[e·v, e] of every head, side by side, for every stored row and for [CLS]: what a sequence sums up.

    Right where `is_safe` holds, which it does not ask.
    """
    if not all(isinstance(head.normaliser, Softmax) for head in tabulated.heads):
        raise AssumptionError(
            "only softmax factorises into one matrix product, and a head here has another normaliser; use `evaluate`"
        )
    xp = array_namespace(tabulated.stream)
    rows: list[Array] = []
    own: list[Array] = []
    for head in tabulated.heads:
        low, high = score_range(head)
        shift, temperature = (low + high) / 2, getattr(head.normaliser, "temperature", 1.0)
        mass = xp.exp((head.scores - shift) / temperature)[..., None]
        cls_mass = xp.exp((head.cls_score - shift) / temperature)[None]
        rows += [mass * head.values, mass]
        own += [cls_mass * head.cls_value, cls_mass]
    return TokenTerms(xp.concat(rows, axis=-1), xp.concat(own, axis=-1))


def from_terms(tabulated: Tabulated, total: Float[Any, "n columns"]) -> Float[Any, "n"]:
    """The model's number for each sum of terms, [CLS]'s own included."""
    mixed, start = [], 0
    for head in tabulated.heads:
        width = head.cls_value.shape[0]
        sums, mass = total[:, start : start + width], total[:, start + width : start + width + 1]
        mixed.append(head.activation(sums / mass))
        start += width + 1
    return _finish(tabulated, tuple(mixed))


def evaluate_by_softmax(tabulated: Tabulated, sequences: Shaped[Any, "*batch T"]) -> Float[Any, "*batch"]:
    """Each sequence's own scores, normalised with [CLS]'s: any normaliser and any range of scores."""
    batch, tabulated = _as_batch(tabulated, sequences), dense(tabulated)
    xp = array_namespace(tabulated.stream)
    step = max(1, BLOCK // tabulated.tokens)
    parts = [batch[start : start + step, :] for start in range(0, batch.shape[0], step)] or [batch]
    mixed = [xp.concat([head.activation(_attended(head, part)) for part in parts], axis=0) for head in tabulated.heads]
    return xp.reshape(_finish(tabulated, tuple(mixed)), tuple(sequences.shape[:-1]))


def is_safe(tabulated: Tabulated) -> bool:
    """Return True if every head is a softmax whose scores are known to lie within the safe range of the product."""
    for head in tabulated.heads:
        if not isinstance(head.normaliser, Softmax):
            return False
        low, high = score_range(head)
        try:
            width = float(numbers_of(high - low)) / head.normaliser.temperature
            largest = float(max(np.abs(numbers_of(part)).max() for part in (head.values, head.cls_value)))
        except TypeError:  # a traced array has no values yet
            return False
        number_format = array_namespace(head.scores).finfo(head.scores.dtype)
        if not width < safe_width(number_format, tabulated.tokens, largest):
            return False
    return True


def score_range(head: TabulatedHead) -> tuple[Float[Any, ""], Float[Any, ""]]:
    """The ends lo and M between which the largest score of every sequence lies.

    Statement  For every sequence b, lo ≤ max(s_cls, max_t s[t, b_t]) ≤ M, where M is the largest score of
               all and lo = max(s_cls, max_t min_a s[t, a]).
    Proof      At the position that attains lo every symbol scores at least as much.
    Equality   M by a sequence that shows the largest score; lo by one that shows the least at every position.
    Source     Ours.
    """
    xp = array_namespace(head.scores)
    least = xp.max(xp.min(head.scores, axis=1))
    return xp.maximum(least, head.cls_score), xp.maximum(xp.max(head.scores), head.cls_score)


def safe_width(number_format: Any, tokens: int, largest_value: float = 1.0) -> float:
    """The largest M − lo at which the product with shift (M + lo)/2 is as accurate as its number format.

    Statement  If M − lo < 2 min(log(ε/(tiny·(T+1))), log(max/((T+1)·V))), V = max(1, |v|), then no sum
               overflows and what underflows is less than ε of the mass.
    Proof      Shifted scores are at most (M − lo)/2, so the T + 1 terms of a sum stay below
               (T + 1) V e^((M−lo)/2) ≤ max. A sequence's own largest score is at least −(M − lo)/2, so its
               mass is at least e^(−(M−lo)/2), and T + 1 terms below tiny lose at most (T + 1)·tiny ≤ ε of
               it.
    Source     Ours. In single precision and T = 1 it is 141.4.

    >>> import numpy as np
    >>> round(safe_width(np.finfo(np.float32), 1), 1), round(safe_width(np.finfo(np.float64), 1))
    (141.4, 1343)
    """
    terms = math.log(tokens + 1)
    tiny, top, eps = (
        math.log(float(bound)) for bound in (number_format.smallest_normal, number_format.max, number_format.eps)
    )
    return 2 * min(eps - tiny - terms, top - terms - math.log(max(1.0, largest_value)))


def _one_hot_product(batch: Array, table: Array) -> Float[Any, "n columns"]:
    """The one-hot batch (n, T·A) times the table (T·A, columns), a block of positions at a time."""
    xp = array_namespace(table)
    symbols, columns = table.shape[1:]
    total: Array = 0
    for start, stop in _blocks(batch, symbols):
        part = batch[:, start:stop]
        one_hot = xp.concat([xp.astype(part == symbol, table.dtype) for symbol in range(symbols)], axis=1)
        rows = xp.reshape(xp.permute_dims(table[start:stop, :, :], (1, 0, 2)), (-1, columns))
        total = total + one_hot @ rows
    return total


def _counts(batch: Array, symbols: int) -> Shaped[Any, "n A"]:
    """The count of each symbol in each sequence."""
    xp = array_namespace(batch)
    total: Array = 0
    for start, stop in _blocks(batch, 1):
        part = batch[:, start:stop]
        total = total + xp.stack([xp.sum(part == symbol, axis=1) for symbol in range(symbols)], axis=1)
    return total


def _blocks(batch: Array, symbols: int) -> Iterator[tuple[int, int]]:
    """Consecutive ranges of positions, small enough to be spelt out for the whole batch; at least one."""
    sequences, positions = batch.shape
    step = max(1, BLOCK // max(1, sequences * symbols))
    yield from ((start, min(start + step, positions)) for start in range(0, max(1, positions), step))


def _attended(head: TabulatedHead, batch: Array) -> Float[Any, "n k"]:
    """One head's mixture of values, before its map out, by normalising scores."""
    xp = array_namespace(head.scores)
    rows, symbols = head.scores.shape
    first = xp.arange(rows) * symbols
    index = xp.reshape(first + xp.astype(batch, first.dtype), (-1,))
    chosen = xp.reshape(xp.take(xp.reshape(head.scores, (-1,)), index, axis=0), tuple(batch.shape))
    cls = xp.broadcast_to(head.cls_score, (batch.shape[0], 1))
    weights = head.normaliser(xp.concat([chosen, cls], axis=1))
    nothing = xp.zeros_like(weights[:, :-1])
    mixture = weights[:, -1:] * head.cls_value
    for symbol in range(symbols):  # symbol by symbol: no array of shape (n, T, k)
        mixture = mixture + xp.where(batch == symbol, weights[:, :-1], nothing) @ head.values[:, symbol, :]
    return mixture


def _as_batch(tabulated: Tabulated, sequences: Array) -> Shaped[Any, "n T"]:
    """The sequences as a batch of the tables' library, checked."""
    require_symbols(sequences, tabulated.tokens, tabulated.symbols)
    xp = array_namespace(tabulated.stream)
    return xp.reshape(xp.asarray(sequences), (-1, tabulated.tokens))


def _finish(tabulated: Tabulated, mixed: tuple[Array, ...]) -> Float[Any, "n"]:
    """The rest of the model at [CLS]."""
    xp = array_namespace(tabulated.stream)
    stream = xp.broadcast_to(tabulated.stream, (mixed[0].shape[0], tabulated.stream.shape[0]))
    return tabulated.readout(tabulated.wiring.finish(stream, mixed))
