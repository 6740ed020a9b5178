"""The arrays of attention, by shape; a numpy, jax or torch array fits each of them.

The letters: T tokens, d the width of a key, k the width of a value, n queries.
"""

from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from jaxtyping import Float, Shaped

from keyhole.errors import ShapeError

Array: TypeAlias = Shaped[Any, "..."]
Scores: TypeAlias = Float[Any, "*batch T"]
Mixture: TypeAlias = Float[Any, "*batch T"]  # one weight per score; a probability vector for most normalisers
Keys: TypeAlias = Float[Any, "T d"]
Values: TypeAlias = Float[Any, "T k"]
Queries: TypeAlias = Float[Any, "n d"]
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
