"""Growth laws: one interface, two ways to evaluate that agree, and laws of the user's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ArgumentError
from keyhole.sweeps.laws.growth_laws import (
    LAWS,
    LOG,
    AffineLaw,
    ConstantLaw,
    GrowthLaw,
    PowerLaw,
    check_law,
    read_laws,
)

NARROW = (25, 50, 100, 200, 400, 800)
CONTEXTS = np.array(NARROW, dtype=float)
BY_NAME = {law.name: law for law in LAWS}
LOG_LOG = AffineLaw("log log", "a + b ln ln T", lambda contexts: np.log(np.log(contexts)))


def test_the_librarys_laws_and_their_order():
    """What is compared by default, by name and formula; of laws that fit alike the first one wins, so order counts."""
    assert [(law.name, law.formula, law.parameters) for law in LAWS] == [
        ("constant", "a", 1),
        ("log", "a + b ln T", 2),
        ("log squared", "a + b (ln T)²", 2),
        ("square root", "a + b √T", 2),
        ("linear", "a + b T", 2),
        ("power", "a T^p", 2),
    ]
    assert all(isinstance(law, GrowthLaw) for law in LAWS)


@pytest.mark.parametrize("name", list(BY_NAME))
def test_coefficients_give_the_law_back(name):
    """The named coefficients, put into the formula, are the fitted curve."""
    law, contexts = BY_NAME[name], np.array(NARROW, dtype=float)
    found = {k: float(v) for k, v in law.coefficients(np.array(1.5), np.array(0.8), (25.0, 800.0)).items()}
    formula = {
        "constant": lambda t: found["a"] + 0 * t,
        "log": lambda t: found["a"] + found["b"] * np.log(t),
        "log squared": lambda t: found["a"] + found["b"] * np.log(t) ** 2,
        "square root": lambda t: found["a"] + found["b"] * np.sqrt(t),
        "linear": lambda t: found["a"] + found["b"] * t,
        "power": lambda t: found["a"] * t ** found["p"],
    }[name]
    expected = 1.5 + law.ln_rise(contexts, (25.0, 800.0), np.array(0.8))
    assert np.log(formula(contexts)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("law", [*LAWS, LOG_LOG], ids=lambda law: law.name)
@given(st.floats(-2, 6), st.floats(-3, 6), st.floats(1.5, 50), st.floats(1.5, 1000))
def test_the_value_is_the_rise_from_the_level(law, level, ln_ratio, shortest, span):
    """At both ends and between, the value from the coefficients is e^(level + rise); the ratio of the ends is ρ."""
    contexts = np.geomspace(shortest, shortest * span, 5)
    ends = float(contexts[0]), float(contexts[-1])
    numbers = law.coefficients(np.array(level), np.array(ln_ratio), ends)
    coefficients = {name: float(number) for name, number in numbers.items()}
    values = np.array([law.value(context, coefficients) for context in contexts])
    rise = law.ln_rise(contexts, ends, np.array(ln_ratio))
    # a and b cancel where f barely moves over the contexts: f(last)/(f(last) − f(first)) is below 1e4 here
    assert values == pytest.approx(np.exp(level + rise), rel=1e-10)
    assert rise[0] == pytest.approx(0, abs=1e-12)
    assert rise[-1] == pytest.approx(ln_ratio if law.parameters == 2 else 0, abs=1e-12)


@pytest.mark.parametrize("law", [*LAWS, LOG_LOG], ids=lambda law: law.name)
def test_the_rise_has_the_shape_of_the_ratios(law):
    """Ratios lead and contexts trail, whatever the shape of the ratios."""
    for shape in ((), (3,), (2, 3)):
        assert law.ln_rise(CONTEXTS, (25.0, 800.0), np.full(shape, 0.5)).shape == (*shape, 6)


@pytest.mark.parametrize(
    ("laws", "words"),
    [
        ((), "A comparison of 0 growth laws"),
        (("log",), "give at least 2"),
        (("log", LOG), "'log' was given twice"),
        (("log", "log cubed"), "'log cubed' is not a growth law; there are constant, log, log squared"),
    ],
)
def test_refuses_laws_that_cannot_be_compared(laws, words):
    """A comparison needs two laws or more, each known and each once."""
    with pytest.raises(ArgumentError, match=words):
        read_laws(laws)


@dataclass(frozen=True)
class Cubic(PowerLaw):
    """A law that claims more parameters than a fit has."""

    name: str = "cubic"

    @property
    def parameters(self):
        """One too many."""
        return 3


def test_refuses_more_parameters_than_are_fitted():
    """A law is fitted by its level and its ratio; a third parameter would not be charged for, so it is refused."""
    with pytest.raises(ArgumentError, match="'cubic' has 3 parameters"):
        read_laws(("log", Cubic()))


class Forgetful(PowerLaw):
    """A law whose value is not what was fitted."""

    def value(self, context, coefficients):
        """The power, without its factor."""
        return context ** coefficients["p"]


class Shifted(PowerLaw):
    """A law whose rise does not begin at 0."""

    def ln_rise(self, contexts, ends, ln_ratio):
        """The rise, and a bit."""
        return super().ln_rise(contexts, ends, ln_ratio) + 0.1


class Slow(PowerLaw):
    """A law whose rise does not reach the ratio."""

    def ln_rise(self, contexts, ends, ln_ratio):
        """Half of the rise."""
        return super().ln_rise(contexts, ends, ln_ratio) / 2


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (Forgetful(), r"its value is not e\^"),
        (Shifted(), "goes from 0.1 to 0.6; it has to go from 0 to 0.5"),
        (Slow(), "goes from 0 to 0.25"),
        (AffineLaw("flat", "a + b", np.ones_like), "its ln_rise is not a number there"),
    ],
)
def test_refuses_a_law_that_breaks_its_interface(law, words):
    """A law whose fitted curve is not the curve it shows is refused before it is fitted."""
    with pytest.raises(ArgumentError, match=words):
        check_law(law, CONTEXTS)


def test_refuses_a_law_without_a_value_at_a_context():
    """Ln ln T has no value at T = 1, and the refusal names the law and the contexts."""
    with pytest.raises(ArgumentError, match="'log log' was asked for at T = 1 to 100, and its ln_rise is not a number"):
        check_law(LOG_LOG, np.array([1.0, 10.0, 100.0]))


@pytest.mark.parametrize("law", [*LAWS, LOG_LOG, ConstantLaw("level", "c")], ids=lambda law: law.name)
def test_accepts_every_law_that_keeps_its_interface(law):
    """The library's laws pass, on narrow and on wide contexts."""
    check_law(law, CONTEXTS)
    check_law(law, np.geomspace(2, 10**6, 12))
