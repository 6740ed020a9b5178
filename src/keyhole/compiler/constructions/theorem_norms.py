"""What the constructions promise of their norms: each figure as a formula in s, γ, ρ and β, free of any matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

from keyhole.boolean.rules import Levels
from keyhole.compiler.constructions.plan import Plan, wanted
from keyhole.compiler.distractors import live
from keyhole.profile import NormProfile


@dataclass(frozen=True)
class StatedNorm:
    """A theorem's figure for one norm: equal to it, or not below it."""

    relation: Literal["=", "≤"]
    value: float

    def holds(self, measured: float, slack: float = 1e-9) -> bool:
        """Whether the measured norm is as stated, up to rounding (sums of ≤ 2^14 doubles: far below 1e-9)."""
        close = abs(measured - self.value) <= slack * max(1.0, abs(self.value))
        return close or (self.relation == "≤" and measured < self.value)


def named_norms(profile: NormProfile) -> dict[str, float]:
    """The norms that the theorems speak of, by name; of several heads the largest."""
    heads = profile.blocks[0].heads
    named = {
        "score_frobenius": max(head.score.frobenius for head in heads),
        "score_21": max(head.score.columns21 for head in heads),
        "score_transposed_21": max(head.score.rows21 for head in heads),
        "value_spectral": max(head.value.spectral for head in heads),
        "value_21": max(head.value.columns21 for head in heads),
        "value_frobenius": max(head.value.frobenius for head in heads),
        "readout": profile.readout,
    }
    return named | {"path": profile.path or 0.0, "path_inf": profile.path_inf or 0.0}


def theorem_figures(plan: Plan) -> Mapping[str, StatedNorm]:
    """The construction's own figure for each norm it speaks of; of a plan with distractors none speaks.

    Source     Ours: the exact norms of Constructions A, B and B′, as their statements give them.
    """
    if len(live(plan).heads) < len(plan.heads):
        return {}
    if plan.construction.startswith("A"):
        return _pair_figures(plan)
    return _separate_figures(plan) if plan.construction == "B′" else _additive_figures(plan)


def _pair_figures(plan: Plan) -> dict[str, StatedNorm]:
    """‖M‖_F = |β|√(2s), ‖Mᵀ‖_{2,1} = 2s|β|; then by target, in units of s/(1−γ) for the read-out."""
    s, beta = plan.function.sparsity, abs(plan.parameters["beta"])
    scale = s / (1 - plan.parameters["gamma"])
    size = sqrt(2 * s) * beta
    figures = {
        "score_frobenius": StatedNorm("=", size),
        "score_21": StatedNorm("=", size),
        "score_transposed_21": StatedNorm("=", 2 * s * beta),
    }
    pattern, constant = sqrt((1 + (s - 1) ** 2) / s), sqrt(2 / s)
    gap = 1 - wanted(truth=False, output=plan.output)
    if plan.construction == "A1":
        full = plan.width == 1 << s
        spectral = sqrt(2.0**s) * max(1 / sqrt(2), abs(s - 2) / sqrt(2 * s))
        return figures | {
            "value_21": StatedNorm("=", plan.width * pattern),
            "value_spectral": StatedNorm("=" if full else "≤", spectral),
            "readout": StatedNorm("=", scale * sqrt(plan.width)),
            "path": StatedNorm("=", scale * plan.width * pattern),
            "path_inf": StatedNorm("=", plan.width * max(1, s - 1) * scale / s),
        }
    if plan.construction in ("A2", "A3"):
        level = abs(wanted(truth=False, output=plan.output)) if plan.construction == "A2" else 1.0
        constants = constant if level else 0.0
        return figures | {
            "value_21": StatedNorm("=", pattern + constants),
            "readout": StatedNorm("=", scale * sqrt(gap**2 + level**2)),
            "path": StatedNorm("=", scale * (gap * pattern + level * constants)),
            "path_inf": StatedNorm("=", scale / s * (gap * max(1, s - 1) + level)),
        }
    return figures | _counting_figures(plan, scale)


def _counting_figures(plan: Plan, scale: float) -> dict[str, StatedNorm]:
    """A4: two ramps and a constant, columns ≤ √s. A5: s ramps and a constant; a ±1 parity attains ‖w‖."""
    s, rule = plan.function.sparsity, plan.function.rule
    parity = isinstance(rule, Levels) and rule.alternating and plan.output == "signs" and s > 1
    if plan.construction == "A4":
        gap = 1 - wanted(truth=False, output=plan.output)
        return {
            "value_21": StatedNorm("≤", 2 * sqrt(s) + sqrt(2 / s)),
            "readout": StatedNorm("≤", scale * sqrt(2 * gap**2 + 1)),
            "path_inf": StatedNorm("≤", 4 * s * scale),
        }
    return {
        "value_21": StatedNorm("≤", sqrt(2 / s) + s * sqrt(s)),
        "readout": StatedNorm("=" if parity else "≤", scale * sqrt(16 * s - 11)),
        "path_inf": StatedNorm("≤", 4 * s * scale),
    }


def _additive_figures(plan: Plan) -> dict[str, StatedNorm]:
    """‖M‖_F = (Σ(β + log ω_i)²)^½ for one-hot codes; ‖W_V‖ and ‖w‖ by the number n of steps between levels."""
    s, rho, beta = plan.function.sparsity, plan.parameters["rho"], plan.parameters["beta"]
    share = plan.parameters["attention"]
    binary = plan.construction.startswith("B2")
    weights = [2.0**i if binary else 1.0 for i in range(s)]
    kappa = 1 / (sum(weights) + rho)
    score = sqrt(sum((beta + log(weight)) ** 2 for weight in weights))
    relation: Literal["=", "≤"] = "=" if plan.codes_seed is None else "≤"
    if plan.codes_seed is not None:
        score /= sqrt(1 - (s - 1) / (3 * s))  # the relevant codes' products are at most 1/(3s)
    first = plan.units[0] == "constant"
    steps = (plan.width - first) // 2
    gap = 1 - wanted(truth=False, output=plan.output)
    return {
        "score_frobenius": StatedNorm(relation, score),
        "score_21": StatedNorm(relation, score),
        "value_21": StatedNorm("≤", 2 * steps + sqrt(2) * kappa),
        "value_spectral": StatedNorm("≤", sqrt(2 * steps + 2 * kappa**2)),
        "readout": StatedNorm("=", sqrt(first + 2 * steps * gap**2 / (1 - rho) ** 2) / share),
    }


def _separate_figures(plan: Plan) -> dict[str, StatedNorm]:
    """‖M_h‖_F = |β| for each head; ‖w‖ by the number of patterns, two units each."""
    s, rho, beta = plan.function.sparsity, plan.parameters["rho"], abs(plan.parameters["beta"])
    return {
        "score_frobenius": StatedNorm("=", beta),
        "score_21": StatedNorm("=", beta),
        "score_transposed_21": StatedNorm("=", beta),
        "readout": StatedNorm("=", sqrt(plan.width) / ((1 - s * rho) * plan.parameters["attention"])),
    }
