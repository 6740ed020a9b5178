"""Checks of shapes, made where arrays are put together.

The checks look at shapes, which a traced array has too; `arrays.require_numbers` looks at values where there
are any. They stand in the records themselves, whose fields name their shapes in words, so that they hold in
every use. What is neither array nor sequence (a placeholder of some tree transformation) is passed over.
"""

from typing import Any

from array_api_compat import is_array_api_obj

from keyhole.attention.types import Array, require_numbers
from keyhole.errors import ShapeError


def require_weights(**named: tuple[Any, tuple[int | str, ...]] | None) -> None:
    """Refuse weights of the wrong shape, or that are not finite, by the name they are passed under.

    A letter among the sides stands for any length of at least one.
    """
    for name, asked in named.items():
        if asked is None:
            continue
        array, sides = asked
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
    """The length of one axis, or a free letter where there is no array to ask."""
    return array.shape[axis] if is_array_api_obj(array) and -array.ndim <= axis < array.ndim else "?"
