"""The run-time type checker of the suite: as mypy has it, a whole number is a real number.

Every function's arguments and result are checked. Where a signature states the shape of an array, a context is opened
too, in which one letter means one size; elsewhere none is, since opening one costs more than most checks.
"""

import dataclasses
import functools
import inspect
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from beartype._check.code import codemain  # no public name sets its generator; the version is pinned
from beartype.claw import beartype_package

SOURCE = Path(__file__).parents[2] / "src" / "keyhole"
AS_MYPY = BeartypeConf(  # arguments and results, not what is assigned
    is_pep484_tower=True, claw_is_pep526=False, violation_type=jaxtyping.TypeCheckError
)
NUMBERS = "keyhole.bounds"  # the package that imports no numpy, so that no signature there states a shape

# Which item of a list is looked at is drawn; the generator that tests share is left alone.
codemain.getrandbits = Random(0).getrandbits  # noqa: S311

checked = beartype(conf=AS_MYPY)
switch = SimpleNamespace(on=True)
in_a_context, fully = jaxtyping.jaxtyped(typechecker=None), jaxtyping.jaxtyped(typechecker=checked)


def packages_with_arrays() -> list[str]:
    """Every other package and module."""
    names = (path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    return sorted({f"keyhole.{name}" for name in names if not name.startswith("__")} - {NUMBERS})


def install() -> None:
    """Check every function and record that is imported from now on.

    The import hook of jaxtyping writes `@jaxtyping.jaxtyped(typechecker=…)` above each of them. That decorator checks
    all arguments twice and opens a context always; `at_the_edge` stands in its place.
    """
    jaxtyping.jaxtyped = lambda *, typechecker: at_the_edge  # noqa: ARG005
    jaxtyping.install_import_hook(packages_with_arrays(), "helpers.typechecking.at_the_edge")
    beartype_package(NUMBERS, conf=AS_MYPY)


def at_the_edge(thing):
    """The function, or the record's constructor, with its arguments and its result checked."""
    if isinstance(thing, type):
        if dataclasses.is_dataclass(thing) and "__init__" in vars(thing):
            thing.__init__ = at_the_edge(thing.__init__)
        return thing
    if "<locals>" in thing.__qualname__:  # a function inside another is no edge, and is made anew at each call
        return thing
    typed = None

    @functools.wraps(thing)
    def edge(*args, **options):
        nonlocal typed
        if not switch.on:
            return thing(*args, **options)
        typed = typed or with_checks(thing)  # when first called, since all names are known then
        return typed(*args, **options)

    return edge


def with_checks(function):
    """The function with its arguments and its result checked, in a context of its own if it states a shape."""
    try:
        hints = get_type_hints(function).values()
    except NameError:  # a name that mypy alone can see: what it annotates is not checked
        return fully(function)
    typed = fully(function) if inspect.isgeneratorfunction(function) else checked(function)  # it runs when all is over
    return in_a_context(typed) if any(map(states_a_shape, hints)) else typed


@contextmanager
def switched_off():
    """No types are checked inside."""
    switch.on = False
    try:
        yield
    finally:
        switch.on = True


def states_a_shape(hint) -> bool:
    """Whether a type is an array of some shape, or is made of one."""
    return hasattr(hint, "dim_str") or any(map(states_a_shape, get_args(hint)))
