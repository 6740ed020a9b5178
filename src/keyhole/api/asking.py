"""Arguments of the public functions: a name or type that a function does not take is refused in one sentence.

What a function takes is what its annotations say. A whole number is no truth value, and text is no list.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from keyhole.errors import ArgumentError

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

SHOWN = 60  # letters of a value that is refused
WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text", Path: "a path", NoneType: "None"}
NUMBERS: dict[Any, tuple[type, ...]] = {int: (Integral,), float: (Real,)}


def check_arguments(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """The function, which looks at the types of its arguments before it begins.

    >>> @check_arguments
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double("3")
    Traceback (most recent call last):
    keyhole.errors.ArgumentError: double was given number = '3'; give a whole number.
    """
    taken = signature(function)
    kinds = cache(lambda: get_type_hints(function))

    @wraps(function)
    def ask(*given: Parameters.args, **named: Parameters.kwargs) -> Answer:
        try:
            arguments = taken.bind(*given, **named).arguments
        except TypeError as error:
            taking = ", ".join(name for name in taken.parameters if name != "self")
            raise ArgumentError(f"{function.__name__}: {error}; it takes {taking}.") from error
        for name, bound in arguments.items():
            if name not in kinds():  # the self of a method
                continue
            kind = kinds()[name]
            for value in bound if taken.parameters[name].kind is Parameter.VAR_POSITIONAL else (bound,):
                if not fits(value, kind):
                    raise ArgumentError(f"{function.__name__} was given {name} = {_short(value)}; give {words(kind)}.")
        return function(*given, **named)

    return ask


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated kind, as far as that can be seen without using it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if kind in NUMBERS:
        return isinstance(value, NUMBERS[kind]) and not isinstance(value, bool)
    if origin is Sequence:
        return _is_list(value) and all(fits(each, inner[0]) for each in cast("Sequence[object]", value))
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(inner)
    plain = origin or kind
    return not isinstance(plain, type) or isinstance(value, plain)


def _is_list(value: object) -> bool:
    """Whether a value is a list, a tuple or an array; text is none of them."""
    return (isinstance(value, Sequence) or hasattr(value, "tolist")) and not isinstance(value, (str, bytes))


def words(kind: Any) -> str:
    """What is wanted, in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(each) for each in inner))
    if origin is Literal:
        return " or ".join(repr(each) for each in inner)
    if origin is Sequence:
        return f"a list, each entry {words(inner[0])}"
    if origin is tuple:
        return f"a tuple of {len(inner)}"
    if origin is not None:
        return "a function" if origin.__name__ == "Callable" else "a dictionary"
    return WORDS.get(kind) or f"a {getattr(kind, '__name__', kind)}"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
