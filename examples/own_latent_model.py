"""A latent model of one's own: how near does attention come to its exact posterior mean?

Counts come from a Poisson law whose rate was drawn from a Gamma law, once per sequence. The posterior of the rate is
Gamma again, with mean (a + Σx)/(b + T): even attention to the tokens and to one sink of weight b and value a/b. So the
sink should be the posterior mean, and the plain mean of the tokens should miss it by (b/(b + T))²(a/b² + a/(bT)).

    python examples/own_latent_model.py
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import keyhole
from keyhole.latent import Draw, ModelWithoutKeys, Pooling


@dataclass(frozen=True)
class GammaPoisson(ModelWithoutKeys):
    """Counts x ~ Poisson(z), with a rate z ~ Gamma(a, rate b) per sequence."""

    a: float = 3.0
    b: float = 0.5

    def sample(self, n: int, length: int, rng: int | np.random.Generator) -> Draw:
        """Draw a rate for each sequence, then its counts (n, T, 1)."""
        stream = np.random.default_rng(rng)
        rates = stream.gamma(self.a, 1 / self.b, size=(n, 1))
        return Draw(stream.poisson(rates[:, None], size=(n, length, 1)).astype(float), rates)

    def posterior_mean(self, tokens: np.ndarray) -> np.ndarray:
        """E[z | counts] = (a + Σx)/(b + T)."""
        return np.asarray((self.a + tokens.sum(axis=1)) / (self.b + tokens.shape[1]))

    @property
    def pooling(self) -> Pooling:
        """E z = a/b; E Var(x | z) = E z; Var z = a/b²; the posterior mean is linear in the tokens."""
        mean = self.a / self.b
        return Pooling(np.array([mean]), noise=mean, signal=mean / self.b, linear=True)


def check(model: GammaPoisson, inference: Any) -> None:
    """The sink is the posterior mean up to rounding, and the mean of the tokens is off by what the formula says."""
    mean, sink = inference.curves
    assert sink.identical, "the sink is not the posterior mean"  # noqa: S101
    a, b, T = model.a, model.b, np.array(mean.sizes)
    expected = (b / (b + T)) ** 2 * (a / b**2 + a / (b * T))
    off = np.abs(mean.gaps.mean(axis=0) - expected) / (mean.gaps.std(axis=0, ddof=1) / len(mean.gaps) ** 0.5)
    assert off.max() < 4, "the gap is more than four standard errors from its formula"  # noqa: S101
    print(
        f"\nThe sink is the posterior mean; the mean of the tokens is {off.max():.1f} standard errors off its formula."
    )


if __name__ == "__main__":
    answer = keyhole.infer(GammaPoisson(), [8, 16, 32, 64])
    print(answer)
    check(GammaPoisson(), answer)
