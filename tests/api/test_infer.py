"""`keyhole.infer`: attention against the exact posterior mean."""

import numpy as np
import pytest

import keyhole
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.latent.inference.attentions import Attention
from keyhole.latent.inference.problem import Prediction, Settings, read_settings
from keyhole.latent.models.conjugate import GaussianLocation
from keyhole.latent.models.linear import LinearRegression


def test_a_value_serves_as_a_model():
    """A location of one's own: the sink is the posterior mean, the mean of the tokens is not."""
    found = keyhole.infer(GaussianLocation(np.array([3.0]), 1.0, 2.0), [4, 16], repeats=6)
    assert found.model == "GaussianLocation"
    assert [each.is_the_posterior_mean for each in found.estimators] == [False, True]


def test_the_slope_of_the_gap_stands_beside_the_exact_one():
    """−2 for the mean of the tokens, with an interval around the exact slope."""
    slope = keyhole.infer("gaussian", [16, 64, 256], repeats=100, seed=5).estimators[0].gap_slope
    assert slope.exact == pytest.approx(-2, abs=0.02)
    assert slope.low < slope.exact < slope.high


@pytest.mark.parametrize("rule", [0.5, "0.5"])
def test_rules_may_be_numbers_or_texts(rule):
    """The same curve."""
    found = keyhole.infer("gp", [8], attention=["softmax"], settings=read_settings(bandwidth=rule), repeats=2)
    assert found.estimators[0].settings == "exponential kernel, γ = 0.5"


def test_a_kernel_of_ones_own():
    """A function of two arrays of rows, called so."""
    own = lambda left, right: np.exp(-np.abs(left[:, None] - right[None]).sum(axis=2))  # noqa: E731
    found = keyhole.infer("gp", [8, 16], attention=["cme"], settings=Settings(own), repeats=3)
    assert "own kernel" in found.estimators[0].settings


def test_the_figure_shows_what_differs_and_what_the_posterior_misses():
    """Measured and exact lines of softmax; one line for the posterior mean's own error."""
    figure = keyhole.infer("gaussian", [4, 16], repeats=4).figure()
    names = {row["estimator"] for row in figure.rows}
    assert {"softmax", "softmax, exact"} < names
    assert len(names) == 3


def test_one_size_has_no_slope():
    """And says none."""
    found = keyhole.infer("polya", [8], repeats=4)
    assert (found.estimators[0].gap_slope, found.estimators[0].error_slope) == (None, None)


def test_an_error_of_zero_by_chance_leaves_out_the_slope():
    """Two tokens, one of each side, put the mean on the posterior mean in every repeat; the table stays."""
    softmax = keyhole.infer("beta", [2, 4], attention=["softmax"], repeats=2, seed=2).estimators[0]
    assert softmax.gap_slope is None
    assert len(softmax.points) == 2


def test_a_value_is_repeated_as_often_as_its_name():
    """The number of repeats follows the kind of model, not what it is called."""
    found = keyhole.infer(LinearRegression(1, 1), [2], attention=["linear"])
    assert found.repeats == keyhole.infer("linear", [2], attention=["linear"]).repeats == 64


def test_nothing_is_stated_of_an_unknown_kernel():
    """Theory gives no sentence and no number."""
    found = keyhole.infer("gp", [8], attention=["cme"], settings=Settings("matern"), repeats=2)
    assert found.estimators[0].theory == Prediction()


def test_an_attention_of_ones_own():
    """It is measured on the same contexts as those with names, and theory says nothing of it."""
    last = Attention("last", Settings(), "the last token", lambda context: np.eye(len(context.values))[-1:],
                     lambda weights, context: weights @ context.values, linear=False)  # fmt: skip
    found = keyhole.infer("gaussian", [4, 16], attention=["softmax", last], repeats=100)
    named = keyhole.infer("gaussian", [4, 16], attention=["softmax"], repeats=100)
    assert found.estimators[0].points == named.estimators[0].points
    assert found.estimators[1].theory == Prediction()
    # the error of one token is the variance of the noise, 0.5: within four standard errors
    assert all(abs(point.error - 0.5) < 4 * point.error_standard_error for point in found.estimators[1].points)


@pytest.mark.parametrize("model", ["finite", "gaussian", "gp"])
def test_the_text_fits_a_screen(model):
    """At most ten lines and a row for each attention and length, of at most 80 letters."""
    answer = keyhole.infer(model, [8, 64], repeats=4)
    lines = answer.text(80).splitlines()
    assert len(lines) <= 10 + 2 * len(answer.estimators)
    assert max(map(len, lines)) <= 80
    assert len(answer.text(80, verbose=True).splitlines()) > len(lines)


@pytest.mark.parametrize(
    ("ask", "error", "fact"),
    [
        (lambda: keyhole.infer("gp", [8], attention=["softmax", "softmax"]), ArgumentError, "named twice"),
        (lambda: keyhole.infer("gp", [8], seed=-1), ArgumentError, "got -1"),
        (lambda: read_settings(bandwidth=-1.0), AssumptionError, "got -1.0"),
        (lambda: read_settings(ridge=0.0), AssumptionError, "no unique answer"),
    ],
)
def test_refusals(ask, error, fact):
    """Before anything is drawn."""
    with pytest.raises(error, match=fact):
        ask()


@pytest.mark.parametrize(
    ("attention", "settings", "error", "fact"),
    [
        ("softmax", read_settings("cosine"), ArgumentError, "'cosine' is not a kernel"),
        ("cme", read_settings(np.dot, 1.0), ArgumentError, "a function of one's own"),
        ("cme", read_settings(lambda a, b: np.nan * (a @ b.T)), AssumptionError, "is not finite at"),
        ("softmax", read_settings(bandwidth=1e-320), AssumptionError, "T = 8"),
    ],
)
def test_settings_that_give_no_answer_are_refused(attention, settings, error, fact):
    """A kernel that is not one, a bandwidth that applies to none, and what leaves the range of doubles."""
    with pytest.raises(error, match=fact):
        keyhole.infer("gp", [8, 16], attention=[attention], settings=settings, repeats=2)
