"""The arrays of attention, by shape, and what is refused of them; numpy, jax and torch arrays fit alike.

The letters: T tokens, d the width of a key, k the width of a value, n queries. Values and queries name their
own rows and width: `require_context` checks that they fit the keys.
"""

from math import inf
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_torch_array

from keyhole.arrays import Float, Shaped
from keyhole.errors import AssumptionError, ShapeError

Array: TypeAlias = Shaped[Any, "..."]
Scores: TypeAlias = Float[Any, "*batch T"]
Mixture: TypeAlias = Float[Any, "*batch T"]  # one weight per score; a probability vector for most normalisers
Keys: TypeAlias = Float[Any, "T d"]
Values: TypeAlias = Float[Any, "T_values k"]
Queries: TypeAlias = Float[Any, "n d_queries"]
Mixtures: TypeAlias = Float[Any, "n T"]  # one row of weights per query
Answers: TypeAlias = Float[Any, "n k"]


def require_numbers(**named: Array) -> None:
    """Refuse an array that holds NaN or infinity, by the name it is passed under.

    Under a jax transformation an array has no values yet; there nothing can be asked, and nothing is.
    """
    for name, array in named.items():
        xp = array_namespace(array)
        try:
            numbers = bool(xp.all(xp.isfinite(array)))
        except TypeError:  # what jax raises when a traced array is asked for its truth
            continue
        if not numbers:
            raise ShapeError(f"{name} holds NaN or infinity; every entry must be a finite number")


def numbers_of(array: Array) -> Any:
    """The values of an array as numpy's, in double precision: where arrays become numbers."""
    return np.asarray(array.detach().cpu() if is_torch_array(array) else array).astype(np.float64)


def require_context(keys: Array, values: Array | None = None, queries: Array | None = None) -> None:
    """Refuse keys, values and queries that do not fit together, an empty context, and entries that are not finite."""
    named = {"keys": keys, "values": values, "queries": queries}
    given = {name: array for name, array in named.items() if array is not None}
    for name, array in given.items():
        if array.ndim != 2:
            raise ShapeError(
                f"{name} have {array.ndim} axes; give two, a row per token or query, a column per coordinate"
            )
    if keys.shape[0] == 0:
        raise ShapeError("the context is empty; give at least one key")
    if values is not None and values.shape[0] != keys.shape[0]:
        raise ShapeError(f"{keys.shape[0]} keys came with {values.shape[0]} values; give one value per key")
    if queries is not None and queries.shape[1] != keys.shape[1]:
        raise ShapeError(
            f"queries have width {queries.shape[1]} and keys width {keys.shape[1]}; give both the same width"
        )
    require_numbers(**given)


def require_positive(what: str, number: float) -> None:
    """Refuse a number that is not positive and finite."""
    if not 0 < number < inf:  # refuses NaN too
        raise AssumptionError(f"{what} must be positive and finite; got {number}")


def require_weights(**named: tuple[Any, tuple[int | str, ...]] | None) -> None:
    """Refuse weights of the wrong shape, or that are not finite, by the name they are passed under.

    A letter among the sides stands for any length of at least one. The records of weights call this themselves, so that
    it holds in every use; what is neither array nor sequence (a placeholder of a tree transformation) is passed over.
    """
    for name, question in named.items():
        if question is None:
            continue
        array, sides = question
        if isinstance(array, list | tuple):
            raise ShapeError(f"{name} is a {type(array).__name__}; make it an array of numpy, jax or torch")
        if not is_array_api_obj(array):
            continue
        shape = tuple(array.shape)
        fits = len(shape) == len(sides) and all(
            length == side if isinstance(side, int) else length >= 1 for length, side in zip(shape, sides, strict=True)
        )
        if not fits:
            wanted = ", ".join(map(str, sides))
            raise ShapeError(f"{name} has shape {shape}, but ({wanted}) is what fits here; reshape or transpose it")
        require_numbers(**{name: array})


def optional(array: Array | None, *sides: int | str) -> tuple[Array, tuple[int | str, ...]] | None:
    """The question to `require_weights` about an array that may be absent."""
    return None if array is None else (array, sides)


def side(array: Any, axis: int) -> int | str:
    """The length of one axis, or a free letter without an array."""
    return array.shape[axis] if is_array_api_obj(array) and -array.ndim <= axis < array.ndim else "?"
