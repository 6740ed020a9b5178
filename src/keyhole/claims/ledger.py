"""The claims ledger: every study there is, in the order a reader meets them; and what no study covers yet."""

from keyhole.claims.finding import Study
from keyhole.claims.generalization import bound_growth, bound_rivals, bound_shape, floor, theorem_t
from keyhole.claims.latent import (
    attention_conditional_mean,
    exchangeability,
    exchangeability_tests,
    inference_rates,
    minimality,
    posterior_contraction,
    sufficiency,
)
from keyhole.claims.representation import constructions as representation
from keyhole.claims.representation import joined, normaliser_constants, sharpness, softmax_smoothness
from keyhole.claims.training import certified_runs as settled
from keyhole.claims.training import conjunctions, grokking, parity, sparse_heads
from keyhole.errors import ArgumentError

TRAINED: tuple[Study, ...] = (  # these train networks: minutes, not seconds
    conjunctions.UNIFORM_STUDY,
    conjunctions.BALANCED_STUDY,
    parity.STUDY,
    grokking.STUDY,
    settled.STUDY,
    sparse_heads.STUDY,
)

STUDIES: tuple[Study, ...] = (
    *TRAINED,
    joined.STUDY,
    floor.STUDY,
    theorem_t.STUDY,
    softmax_smoothness.STUDY,
    normaliser_constants.STUDY,
    sharpness.STUDY,
    representation.STUDY,
    bound_growth.STUDY,
    bound_rivals.STUDY,
    bound_shape.STUDY,
    exchangeability.STUDY,
    exchangeability_tests.STUDY,
    sufficiency.STUDY,
    minimality.STUDY,
    posterior_contraction.STUDY,
    attention_conditional_mean.STUDY,
    inference_rates.STUDY,
)

NOT_COVERED: tuple[tuple[str, str], ...] = (
    ("pretraining", "Generalization independent of length, and the condition number of downstream tasks."),
    ("trained posteriors", "How near a trained transformer comes to an exact posterior, and whether it extrapolates."),
    ("published heads", "Heads of real checkpoints."),
)


def find(name: str) -> Study:
    """The study of a claim, by its id."""
    for study in STUDIES:
        if study.claim.id == name:
            return study
    known = ", ".join(study.claim.id for study in STUDIES)
    raise ArgumentError(f"There is no claim {name!r}; there are {known}.")
