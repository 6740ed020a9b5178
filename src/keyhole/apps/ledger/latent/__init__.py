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

EXPERIMENTS: tuple[Experiment, ...] = (
    *exchangeability.EXPERIMENTS,
    *exchangeability_tests.EXPERIMENTS,
    *sufficiency.EXPERIMENTS,
    *minimality.EXPERIMENTS,
    *posterior_contraction.EXPERIMENTS,
    *attention_conditional_mean.EXPERIMENTS,
    *inference_rates.EXPERIMENTS,
)
