"""How does a bound grow with the context? The samples each theorem asks for, at fixed norms and end to end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

from keyhole.api.norm_sources import Source, norms_of, sparsity_of, veto_norms
from keyhole.bounds import Guarantee, Real
from keyhole.errors import ArgumentError
from keyhole.norm_profile import NormProfile

MOST_CONTEXTS = 100  # of a growth
GROWTH_GAP = 0.2  # of the growth table, where no gap is asked for
LIMITS = {
    ("tabulated", "fixed"): "1: the complexity grows like √log T exactly, so samples like log T",
    ("tabulated", "compiled"): "1: P_∞ does not grow with T",
    ("lists", "fixed"): "1: ln(2N) grows like log T, and the depth D of the lists hardly moves",
    ("lists", "compiled"): "1: P_∞ does not grow with T",
    ("product-lists", "fixed"): "1: ln(2N) grows like log T, and the depth D of the lists hardly moves",
    ("product-lists", "compiled"): "1: P_∞ does not grow with T",
    ("fixed",): "1: C/Λ is constant in T, and Λ holds log m too, so the exponent rises slowly",
    ("compiled",): "3: the logits of exact heads grow like log T and enter squared",
}


@dataclass(frozen=True)
class Growth:
    """The bounds of one theorem over several contexts, and the exponent of log T between neighbours."""

    theorem: str
    norms: str  # "fixed" or "compiled at each context"
    contexts: tuple[int, ...]
    samples: tuple[float, ...]  # needed for the gap
    exponents: tuple[float, ...]  # of log T, between neighbouring contexts
    limit: str

    def record(self) -> dict[str, Any]:
        """The growth as plain values, for JSON."""
        return {
            "theorem": self.theorem,
            "norms": self.norms,
            "contexts": list(self.contexts),
            "samples": list(self.samples),
            "exponents_of_log_T": list(self.exponents),
            "limit": self.limit,
        }


def require_few(contexts: Sequence[int]) -> None:
    """Refuse a growth at more contexts than anyone reads, each of which costs a search for every theorem."""
    if len(contexts) > MOST_CONTEXTS:
        raise ArgumentError(
            f"The growth at {len(contexts)} contexts was asked for; name at most {MOST_CONTEXTS}, such as 100, 10,000 "
            "and 1,000,000: it is smooth between them."
        )


def growths(
    source: Source,
    profile: NormProfile,
    guarantees: Sequence[Guarantee],
    contexts: Sequence[int],
    gap: Real,
    *,
    vetoed: bool,
) -> tuple[Growth, ...]:
    """Growth of every guarantee at fixed norms, and end to end where the norms are known at every context."""
    grown = []
    compiled = sparsity_of(source) is not None
    for kind in ("fixed", "compiled") if compiled else ("fixed",):
        here = [
            replace(profile, tokens=T + profile.constant_tokens)
            if kind == "fixed"
            else replace(
                (vetoed and veto_norms(source, T)) or norms_of(source, T), least_probability=profile.least_probability
            )
            for T in contexts
        ]
        for found in guarantees:
            sizes = tuple(float(found.again(profile=norms).samples_for(gap)) for norms in here)
            limit = LIMITS.get((found.route.key, kind)) or LIMITS[(kind,)]
            words = "fixed" if kind == "fixed" else "compiled at each context"
            grown.append(Growth(found.route.title, words, tuple(contexts), sizes, _exponents(contexts, sizes), limit))
    return tuple(grown)


def _exponents(contexts: Sequence[int], sizes: Sequence[float]) -> tuple[float, ...]:
    """Slopes of log samples against log log(2T+2), the logarithm that Theorem T reads."""
    logs = [log(log(2 * T + 2)) for T in contexts]
    return tuple((log(sizes[i + 1]) - log(sizes[i])) / (logs[i + 1] - logs[i]) for i in range(len(contexts) - 1))
