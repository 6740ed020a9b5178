"""From complexity to risk: how far the average loss on m samples can lie from the expected loss."""

from dataclasses import dataclass
from math import exp, log, sqrt

from keyhole.bounds.derivation import STANDARD, Complexity, Lemma, Step
from keyhole.bounds.validate import Real, failure, norm, positive, sample_size

RULE_3 = Lemma("Rule 3", "gap ≤ 2 L R_m + c √(log(2/δ)/(2m))", STANDARD)
RULE_3_ONE_SIDED = Lemma("Rule 3, one-sided", "gap ≤ 2 L R_m + c √(log(1/δ)/(2m))", STANDARD)
BOUNDED_DIFFERENCES = Lemma("bounded differences", "c √(log(sides/δ)/(2m))", STANDARD)


@dataclass(frozen=True)
class Loss:
    """A loss with values in [0, ceiling], Lipschitz in the output of the model."""

    lipschitz: float = 1.0
    ceiling: float = 1.0

    def __post_init__(self) -> None:
        norm("the loss's Lipschitz constant", self.lipschitz)
        positive("the loss's ceiling", self.ceiling)


def margin_loss(margin: Real) -> Loss:
    """The ramp min(1, max(0, 1 − u/γ)) of u = y f: above the error, below the share of margins under γ.

    Statement  P(yf ≤ 0) ≤ Ê ramp_γ(yf) + (2/γ) R_m + √(log(1/δ)/(2m)) with probability ≥ 1 − δ.
    Proof      The ramp is 1/γ-Lipschitz with values in [0, 1] and is 1 where yf ≤ 0: Rule 3.
    Source     Textbook.

    >>> margin_loss(0.5).lipschitz
    2.0
    """
    return Loss(1 / positive("the margin", margin), 1.0)


def deviation(samples: Real, delta: Real, ceiling: Real = 1.0, *, two_sided: bool = True, peeled: float = 0.0) -> float:
    """The share of chance in a gap: c √(log(2/δ)/(2m)), with log(1/δ) for one side; `peeled` nats more after peeling.

    Statement  A mean of m independent values in [0, c] lies within this of its expectation, with
               probability ≥ 1 − δ e^{−peeled}.
    Proof      Hoeffding, half of that for each side.
    Source     Textbook.

    >>> round(deviation(1000, 0.01), 6)
    0.05147
    """
    sides = 2 if two_sided else 1
    nats = log(sides / failure(delta)) + peeled
    return positive("the loss's ceiling", ceiling) * sqrt(nats / (2 * sample_size(samples)))


def risk_step(
    complexity: Complexity,
    samples: Real,
    delta: Real,
    loss: Loss | None = None,
    *,
    two_sided: bool = True,
    peeled: float = 0.0,
) -> Step:
    """The gap between expected and average loss, uniformly over a class; with `peeled` nats δ is that much smaller.

    Statement  With probability ≥ 1 − δ, for every f in the class, |E ℓ − Ê ℓ| ≤ 2 L R_m + c √(log(2/δ)/(2m));
               one-sided, E ℓ ≤ Ê ℓ + 2 L R_m + c √(log(1/δ)/(2m)).
    Proof      The supremum of the gap has bounded differences c/m; its mean is at most 2 R_m of the loss
               class (symmetrisation), hence 2 L R_m (contraction).
    Source     Textbook (Rule 3).
    """
    loss = loss or Loss()
    chance = deviation(samples, delta, loss.ceiling, two_sided=two_sided, peeled=peeled)
    left = float(delta) * exp(-peeled)
    stated = ("δ", left) if left > 0 else ("ln(1/δ)", peeled - log(failure(delta)))
    spread = 2 * loss.lipschitz * complexity.value
    value = spread + chance
    inputs = (("m", float(samples)), stated, ("L", loss.lipschitz), ("c", loss.ceiling))
    parts = (
        complexity.step.of(spread / value),
        Step("chance", chance, BOUNDED_DIFFERENCES, (stated,), (), chance / value),
    )
    return Step("gap", value, RULE_3 if two_sided else RULE_3_ONE_SIDED, inputs, parts)
