"""Exchangeable models with a latent per sequence: exact posteriors, and attention judged as their estimator."""

from keyhole.latent.conjugate import BetaBernoulli as BetaBernoulli
from keyhole.latent.conjugate import GaussianLocation as GaussianLocation
from keyhole.latent.conjugate import Polya as Polya
from keyhole.latent.contrasts import MarkovChain as MarkovChain
from keyhole.latent.contrasts import Urn as Urn
from keyhole.latent.diagnosis import diagnose_head as diagnose_head
from keyhole.latent.finite import FiniteModel as FiniteModel
from keyhole.latent.finite import TwoFunctions as TwoFunctions
from keyhole.latent.long_cme import embed_long as embed_long
from keyhole.latent.long_softmax import softmax_long as softmax_long
from keyhole.latent.mixture import GaussianMixture as GaussianMixture
from keyhole.latent.model import Draw as Draw
from keyhole.latent.model import LatentModel as LatentModel
from keyhole.latent.prototypes import prototype_attention as prototype_attention
from keyhole.latent.registry import find_model as find_model
from keyhole.latent.regression import LinearRegression as LinearRegression
from keyhole.latent.regression import SphereFunction as SphereFunction
from keyhole.latent.regression import SphereProcess as SphereProcess
