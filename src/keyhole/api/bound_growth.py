"""How does a bound grow with the context? The samples each theorem asks for, at fixed norms and end to end."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

from keyhole.api.norm_sources import NormSource
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
    """The samples that one theorem asks for at several contexts, and the exponent of log T between neighbours."""

    theorem: str
    norms: str  # "fixed" or "compiled at each context"
    contexts: tuple[int, ...]
    samples: tuple[float, ...]  # needed for the gap
    exponents_of_log_T: tuple[float, ...]  # noqa: N815  (the key of its record)
    limit: str


def growths(
    source: NormSource,
    profile: NormProfile,
    guarantees: Sequence[Guarantee],
    contexts: Sequence[int],
    gap: Real,
    *,
    construction: str,
) -> tuple[Growth, ...]:
    """Return the growth of every guarantee at fixed norms, and end to end if norms are known at every context."""
    if len(contexts) > MOST_CONTEXTS:  # each costs a search for every theorem
        raise ArgumentError(
            f"The growth at {len(contexts)} contexts was asked for; name at most {MOST_CONTEXTS}, such as 100, 10,000 "
            "and 1,000,000: it is smooth between them."
        )
    if not contexts:
        return ()
    kinds = {"fixed": [replace(profile, tokens=T + profile.constant_tokens) for T in contexts]}
    if source.constructions:
        made = [source.constructions[construction](T) or source.constructions[""](T) or profile for T in contexts]
        kinds["compiled"] = [replace(norms, least_probability=profile.least_probability) for norms in made]
    logs = [log(log(2 * T + 2)) for T in contexts]  # log log(2T+2), the logarithm that Theorem T reads
    grown = []
    for kind, profiles in kinds.items():
        for stated in guarantees:
            sizes = tuple(float(stated.again(profile=norms).samples_for(gap)) for norms in profiles)
            limit = LIMITS.get((stated.route, kind)) or LIMITS[(kind,)]
            words = "fixed" if kind == "fixed" else "compiled at each context"
            exponents = tuple(
                (log(after) - log(before)) / (far - near)
                for (before, after), (near, far) in zip(pairwise(sizes), pairwise(logs), strict=True)
            )
            grown.append(Growth(stated.title, words, tuple(contexts), sizes, exponents, limit))
    return tuple(grown)
