"""What error do the training margins of a run promise? The ramp loss at a margin, and a bound on its gap."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.bounds import layer_guarantee, margin_loss, tabulated_profile
from keyhole.decimals import at_least, at_most, surely
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)  # of the training inputs that may lie below the margin


@dataclass(frozen=True)
class MarginBound:
    """A promise on the error of a trained layer, by the margins of its training set."""

    properties: ClassVar[tuple[str, ...]] = ("vacuous", "sentence")

    margin: float  # γ
    ramp: float  # mean of min(1, max(0, 1 − yf/γ)) over the training set
    gap: float  # of that loss, at most
    error: float  # at most: the sum of both
    theorem: str
    delta: float  # promised
    delta_spent: float  # that the gap is computed at, no more than is promised
    samples: int

    @property
    def vacuous(self) -> bool:
        """True if it says no more than that an error is at most 1."""
        return self.error >= 1

    @property
    def sentence(self) -> str:
        """The promise in words."""
        parts = f"the ramp loss {at_most(self.ramp)} on the training set and a gap of at most {at_most(self.gap)}"
        marks = f"{self.theorem}; norms measured after training{'; VACUOUS' if self.vacuous else ''}"
        return (
            f"error on new inputs ≤ {at_most(self.error)} with probability ≥ {surely(self.delta)} at m = "
            f"{self.samples:,}: at the margin γ = {at_least(self.margin)}, {parts} ({marks})"
        )


def margin_bound(
    profile: NormProfile, margins: np.ndarray, delta: float, *, spent: float | None = None
) -> MarginBound | None:
    """Return the smallest promise on the error of a layer with these norms and training margins yf, if there is one.

    The gap is computed at the share `spent` of δ, where that is given: the rest pays for training sets that were
    redrawn until they met a condition.

    Statement  P(yf ≤ 0) ≤ Ê ramp_γ(yf) + gap with probability ≥ 1 − δ, for the γ that makes the sum least.
    Assumes    One layer without LayerNorm after attention; independent samples.
    Proof      f/γ has the path norm P_∞/γ and the scores of f, and the ramp at margin 1 is 1-Lipschitz with values in
               [0, 1] and is 1 where yf ≤ 0. Peeling of P_∞/γ holds for all classes at once, so γ may be chosen after
               training.
    Source     Textbook, with Theorems T and L.
    """
    spent = delta if spent is None else spent
    if profile.path_inf is None or profile.normaliser != "softmax":
        return None
    bounds = []
    for margin in (float(np.quantile(margins, share)) for share in SHARES):
        if not margin > 0:
            continue
        norms = tabulated_profile(
            path_inf=profile.path_inf / margin,
            context=profile.tokens - profile.constant_tokens,
            symbols=profile.symbols,
            constant_tokens=profile.constant_tokens,
            spread=profile.spread,
            least_probability=profile.least_probability,
            lipschitz=profile.activation_lipschitz,
            odd_units=profile.odd_units,
        )
        try:
            stated = layer_guarantee(norms, len(margins), delta=spent, loss=margin_loss(1.0), two_sided=False)
        except AssumptionError:  # of numbers that no bound is computed from
            continue
        ramp = float(np.clip(1 - margins / margin, 0, 1).mean())
        error = ramp + stated.value
        bounds.append(MarginBound(margin, ramp, stated.value, error, stated.title, delta, spent, len(margins)))
    return min(bounds, key=lambda bound: bound.error, default=None)
