"""The claims ledger: every study there is, in the order a reader meets them; and what no study covers yet."""

from keyhole.errors import ArgumentError
from keyhole.studies import (
    attention_conditional_mean,
    bound_growth,
    bound_rivals,
    bound_shape,
    conjunctions,
    exchangeability,
    exchangeability_tests,
    floor,
    grokking,
    inference_rates,
    joined,
    minimality,
    normaliser_constants,
    parity,
    posterior_contraction,
    representation,
    settled,
    sharpness,
    softmax_smoothness,
    sparse_heads,
    sufficiency,
    theorem_t,
)
from keyhole.studies.finding import Study

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
