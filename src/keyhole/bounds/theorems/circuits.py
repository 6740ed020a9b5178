"""A model of steps by its norms: Theorem T for every slot."""

from collections.abc import Sequence

from keyhole.bounds.theorems.guarantees import guarantee
from keyhole.bounds.theorems.registry import TABULATED
from keyhole.bounds.theorems.risk import margin_loss
from keyhole.bounds.validate import Real, failure, whole
from keyhole.norm_profile import NormProfile


def slot_gaps(
    profiles: Sequence[NormProfile], samples: Real, *, margin: Real = 1.0, delta: Real = 0.01
) -> tuple[float, ...]:
    """Bound, for every slot, how far its error can lie above its margin loss on the sample.

    Statement  With probability ≥ 1 − δ, for all slots g at once: P(slot g errs, the slots before it given as they are)
               ≤ its margin loss on m samples + gap_g, gap_g being Theorem T's one-sided gap for the norms of slot g at
               length T + g and δ/n. The chain that writes its own steps errs at most Σ_g (margin loss + gap_g).
    Assumes    Each sample shows the values of all gates; norms were fixed before the data were seen.
    Proof      A slot's query depends on its position alone: a model of Theorem T's class, over words of context and
               slots. Union over slots; then over the first step that goes wrong, which sees right slots.
    Source     Ours.
    """
    share = failure(delta) / whole("the slots", len(profiles))
    loss = margin_loss(margin)
    return tuple(
        guarantee(TABULATED, profile, samples, delta=share, loss=loss, two_sided=False).value for profile in profiles
    )
