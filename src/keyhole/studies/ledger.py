"""The claims ledger: every study there is, in the order a reader meets them; and what no study covers yet."""

from keyhole.errors import ArgumentError
from keyhole.studies import (
    attention_conditional_mean,
    bound_growth,
    bound_rivals,
    bound_shape,
    exchangeability,
    exchangeability_tests,
    floor,
    inference_rates,
    joined,
    minimality,
    normaliser_constants,
    posterior_contraction,
    representation,
    sharpness,
    softmax_smoothness,
    sufficiency,
    theorem_t,
)
from keyhole.studies.finding import Study

STUDIES: tuple[Study, ...] = (
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
    ("sample size of trained heads", "m*(T) of gradient descent, with the comparison of growth laws: needs training."),
    ("parity after a plateau", "Sparse parity learned by gradient descent: needs training."),
    ("what a trained head computes", "Extraction and certificates of trained weights: needs trained models."),
    ("pretraining", "Generalization independent of the length, and the condition number of a pretext: needs training."),
    ("published heads", "Heads of real checkpoints."),
)


def find(name: str) -> Study:
    """The study of a claim, by its id."""
    for study in STUDIES:
        if study.claim.id == name:
            return study
    known = ", ".join(study.claim.id for study in STUDIES)
    raise ArgumentError(f"There is no claim {name!r}; there are {known}.")
