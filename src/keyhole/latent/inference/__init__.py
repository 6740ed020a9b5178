"""Attention as an estimator: kinds of attention measured against the posterior mean that a latent model states."""

from keyhole.latent.inference.attentions import Attention as Attention
from keyhole.latent.inference.attentions import make_attention as make_attention
from keyhole.latent.inference.attentions import make_attentions as make_attentions
from keyhole.latent.inference.bias import ridge_bias as ridge_bias
from keyhole.latent.inference.bias import softmax_floor as softmax_floor
from keyhole.latent.inference.harmonics import multiplier as multiplier
from keyhole.latent.inference.measure import IDENTITY as IDENTITY
from keyhole.latent.inference.measure import Curve as Curve
from keyhole.latent.inference.measure import measure_curves as measure_curves
from keyhole.latent.inference.problem import Context as Context
from keyhole.latent.inference.problem import Pooling as Pooling
from keyhole.latent.inference.problem import Posterior as Posterior
from keyhole.latent.inference.problem import Prediction as Prediction
from keyhole.latent.inference.problem import Problem as Problem
from keyhole.latent.inference.problem import Prototypes as Prototypes
from keyhole.latent.inference.problem import Regression as Regression
from keyhole.latent.inference.problem import Settings as Settings
from keyhole.latent.inference.problem import read_settings as read_settings
from keyhole.latent.inference.problem import require_problem as require_problem
from keyhole.latent.inference.prototypes import prototype_attention as prototype_attention
from keyhole.latent.inference.rates import PowerOfT as PowerOfT
from keyhole.latent.inference.rates import fit_slope as fit_slope
from keyhole.latent.inference.rates import slope as slope
from keyhole.latent.inference.rates import vanishing_bandwidth as vanishing_bandwidth
from keyhole.latent.inference.rates import vanishing_rate as vanishing_rate
from keyhole.latent.inference.smoothers import cme_weights as cme_weights
