"""Claims about exchangeable tokens and the latent posterior."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.latent import (
    attention_conditional_mean,
    exchangeability,
    exchangeability_tests,
    inference_rates,
    minimality,
    posterior_contraction,
    sufficiency,
)

MODULES = (
    exchangeability,
    exchangeability_tests,
    sufficiency,
    minimality,
    posterior_contraction,
    attention_conditional_mean,
    inference_rates,
)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
