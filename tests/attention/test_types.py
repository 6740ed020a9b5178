"""What counts as an array of attention, and what is refused of one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from keyhole.attention.types import (
    Answers,
    Keys,
    Mixture,
    Scores,
    require_context,
    require_numbers,
    require_positive,
)
from keyhole.errors import AssumptionError, ShapeError

from helpers.typechecking import fully


@fully
def weighed(scores: Scores, weights: Mixture, keys: Keys, answers: Answers) -> None:
    """One of each, as a checker sees them; T is one number throughout."""


def arguments(make):
    """Arrays that fit together, made by a framework."""
    return [make(np.ones(shape, np.float32)) for shape in [(2, 3), (2, 3), (3, 4), (5, 6)]]


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_arrays_of_a_framework_fit(make):
    """A checker accepts arrays of the right shapes, and refuses a T that differs between two of them."""
    fitting = arguments(make)
    weighed(*fitting)
    jax.jit(lambda array: weighed(array, *fitting[1:]))(jnp.ones((2, 3)))  # a traced array is an array
    with pytest.raises(TypeCheckError):
        weighed(fitting[0], fitting[1], make(np.ones((7, 4), np.float32)), fitting[3])
    with pytest.raises(TypeCheckError):
        weighed(make(np.ones((2, 3), int)), *fitting[1:])


@pytest.mark.extra("torch")
def test_torch_tensors_fit():
    """The same for torch."""
    import torch

    fitting = arguments(torch.tensor)
    weighed(*fitting)
    with pytest.raises(TypeCheckError):
        weighed(fitting[0], fitting[1], torch.ones((7, 4)), fitting[3])
    with pytest.raises(ShapeError, match="keys holds NaN or infinity"):
        require_numbers(keys=torch.tensor([torch.nan]))


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(make, entry):
    """NaN and infinity are named with the array that holds them."""
    with pytest.raises(ShapeError, match="values holds NaN or infinity; every entry must be a finite number"):
        require_numbers(keys=make([1.0]), values=make([0.0, entry]))


def test_a_traced_array_is_not_asked_for_its_values():
    """Under jit the same check lets an array pass, since it has no values yet."""

    @jax.jit
    def checked(array):
        require_numbers(array=array)
        return array

    assert np.isnan(checked(jnp.asarray([jnp.nan]))).all()


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ({"keys": (3,)}, "keys have 1 axes; give two"),
        ({"keys": (3, 2), "values": (3,)}, "values have 1 axes"),
        ({"keys": (0, 2), "values": (0, 1)}, "context is empty"),
        ({"keys": (3, 2), "values": (4, 1)}, "3 keys .* 4 values"),
        (
            {"keys": (3, 2), "queries": (4, 1)},
            "width 1 .* width 2",
        ),
    ],
)
def test_contexts_that_do_not_fit_are_refused(shapes, sentence):
    """Each mismatch has its sentence."""
    with pytest.raises(ShapeError, match=sentence):
        require_context(**{name: np.zeros(shape) for name, shape in shapes.items()})


@pytest.mark.parametrize("number", [0.0, -1.0, np.nan, np.inf])
def test_numbers_that_are_not_positive_are_refused(number):
    """Zero, negative, infinite and undefined."""
    with pytest.raises(AssumptionError, match="a ridge must be positive and finite; got"):
        require_positive("a ridge", number)
