"""Exchangeable models with a latent per sequence: exact posteriors, and attention judged as their estimator."""

from keyhole.latent.inference.diagnosis import diagnose_head as diagnose_head
from keyhole.latent.inference.prototypes import prototype_attention as prototype_attention
from keyhole.latent.long.cme import embed_long as embed_long
from keyhole.latent.long.softmax import softmax_long as softmax_long
from keyhole.latent.models.base import Draw as Draw
from keyhole.latent.models.base import LatentModel as LatentModel
from keyhole.latent.models.conjugate import BetaBernoulli as BetaBernoulli
from keyhole.latent.models.conjugate import GaussianLocation as GaussianLocation
from keyhole.latent.models.conjugate import Polya as Polya
from keyhole.latent.models.finite import FiniteModel as FiniteModel
from keyhole.latent.models.finite import TwoFunctions as TwoFunctions
from keyhole.latent.models.mixture import GaussianMixture as GaussianMixture
from keyhole.latent.models.not_exchangeable import MarkovChain as MarkovChain
from keyhole.latent.models.not_exchangeable import Urn as Urn
from keyhole.latent.models.registry import find_model as find_model
from keyhole.latent.models.regression import LinearRegression as LinearRegression
from keyhole.latent.models.regression import SphereFunction as SphereFunction
from keyhole.latent.models.regression import SphereProcess as SphereProcess
