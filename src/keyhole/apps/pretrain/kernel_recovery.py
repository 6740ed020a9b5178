"""Conditional-mean attention with a trained bandwidth and ridge: does training find those of the process?

Tokens are pairs of a key on the sphere and a value; the value of the last is masked. The prediction is
Vᵀ(𝔎 + λI)⁻¹𝔎(K, q) with 𝔎 = exp((aᵀb − 1)/γ); parameters are log γ and log λ, trained by squared error.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np

from keyhole.apps.pretrain.latent_heads import minimise
from keyhole.apps.pretrain.masked import require_mask
from keyhole.apps.pretrain.tasks import Outcome, PretrainingTask, samples_of
from keyhole.arrays import Float
from keyhole.latent.models import SphereProcess
from keyhole.sweeps.runs import RunSpec
from keyhole.training.learners import Method

JUDGED = 500  # sequences on which a run is judged
DRAWS = 8000  # sequences from which asymptotic standard errors are computed
NAMES = ("log_bandwidth", "log_ridge")


@dataclass(frozen=True)
class KernelHead(Method):
    """Conditional-mean attention whose bandwidth and ridge are trained from a random start."""

    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    starts: int = 1
    spread: float = 0.5  # standard deviation of log γ and log λ at the start

    name = "kernel-head"


@dataclass(frozen=True)
class KernelRecovery(PretrainingTask):
    """Learn the bandwidth and the ridge of a Gaussian process on the sphere from masked values."""

    temperature: float = 0.5  # γ
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 0.09  # σ²

    kind = "kernel recovery"
    name = "kernel"

    @property
    def model(self) -> SphereProcess:
        """The process, with values of two coordinates."""
        return SphereProcess(3, 2, self.temperature, self.prior_variance, self.noise_variance)

    @property
    def truth(self) -> Float[np.ndarray, "2"]:
        """The pair log γ, log σ²/τ²: with it the prediction is the posterior mean."""
        return np.log([self.temperature, self.noise_variance / self.prior_variance])

    def measure(self, spec: RunSpec) -> Outcome:
        """Train on a drawn sample."""
        head = cast("KernelHead", spec.learner)
        require_mask(spec.context, 1)
        _, drawn, learning, fresh = spec.seeds()
        tokens = self.model.sample(samples_of(spec), spec.context, np.random.default_rng(drawn)).tokens
        starts = head.spread * np.random.default_rng(learning).normal(size=(head.starts, 2))
        minimum = minimise(lambda at: kernel_loss(at, tokens)[:2], starts)
        errors, spread = minimum.parameters - self.truth, standard_errors(self, spec.context) / samples_of(spec) ** 0.5
        numbers = {f"{name}_error": float(error) for name, error in zip(NAMES, errors, strict=True)}
        numbers |= {f"{name}_standard_error": float(deviation) for name, deviation in zip(NAMES, spread, strict=True)}
        unseen = self.model.sample(JUDGED, spec.context, np.random.default_rng(fresh)).tokens
        reached, best = (kernel_loss(at, unseen)[0] for at in (minimum.parameters, self.truth))
        blind = float(np.square(unseen[:, -1, 3:]).sum(axis=1).mean()) / 2
        share = 1 - (reached - best) / (blind - best)
        return Outcome(share, numbers, steps=minimum.steps)


def kernel_loss(
    parameters: Float[Any, "2"], tokens: Float[Any, "n T width"]
) -> tuple[float, Float[Any, "2"], Float[Any, "n 2"]]:
    """Half the squared error of the masked value, its slope in (log γ, log λ), and the slope of each sequence.

    Statement  With M = 𝔎 + λI and w = M⁻¹𝔎(K, q): ∂w = M⁻¹(∂𝔎(K, q) − ∂M w).
    Proof      Differentiate Mw = 𝔎(K, q).
    Source     Textbook.
    """
    width = 3
    keys, query, values = tokens[:, :-1, :width], tokens[:, -1, :width], tokens[:, :-1, width:]
    gamma, ridge = np.exp(parameters)
    dots = np.einsum("nid,njd->nij", keys, keys) - 1
    asked = np.einsum("nid,nd->ni", keys, query) - 1
    gram, cross = np.exp(dots / gamma), np.exp(asked / gamma)
    system = gram + ridge * np.eye(keys.shape[1])
    weights = np.linalg.solve(system, cross[..., None])[..., 0]
    moved = np.einsum("nij,nj->ni", gram * dots / gamma, weights) - cross * asked / gamma
    turned = np.linalg.solve(system, np.stack([moved, -ridge * weights], axis=2))
    rest = tokens[:, -1, width:] - np.einsum("ni,nik->nk", weights, values)
    slopes = -np.einsum("nk,nip,nik->np", rest, turned, values)
    return float(np.square(rest).sum(axis=1).mean()) / 2, slopes.mean(axis=0), slopes


@cache
def standard_errors(task: KernelRecovery, length: int) -> Float[np.ndarray, "2"]:
    """√n times the standard errors of (log γ, log λ) as n → ∞, from drawn sequences.

    Statement  √diag(H⁻¹SH⁻¹), S the mean square of the slopes at the truth and H the curvature of the mean loss.
    Proof      The estimate is −H⁻¹ times the mean slope to first order, whose covariance is S/n.
    Source     Textbook (the sandwich formula).
    """
    tokens = task.model.sample(DRAWS, length, 0).tokens
    slopes = kernel_loss(task.truth, tokens)[2]
    step = 1e-4
    curvature = np.array(
        [
            (kernel_loss(task.truth + step * axis, tokens)[1] - kernel_loss(task.truth - step * axis, tokens)[1])
            / (2 * step)
            for axis in np.eye(2)
        ]
    )
    inverse = np.linalg.inv((curvature + curvature.T) / 2)
    return np.asarray(np.sqrt(np.diag(inverse @ (slopes.T @ slopes / len(slopes)) @ inverse)))
