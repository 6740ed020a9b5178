"""Exchangeable models with a latent per sequence: exact posteriors, and attention judged as their estimator.

`models` holds the latent models and their registry, `kernels` attention as a kernel estimator, `inference` measures it
against their posterior means, and `exchangeability` tests sequences.
"""

from keyhole.latent.inference import Context as Context
from keyhole.latent.inference import Pooling as Pooling
from keyhole.latent.inference import Posterior as Posterior
from keyhole.latent.inference import PowerOfT as PowerOfT
from keyhole.latent.inference import Prediction as Prediction
from keyhole.latent.inference import Problem as Problem
from keyhole.latent.inference import Prototypes as Prototypes
from keyhole.latent.inference import Regression as Regression
from keyhole.latent.inference import Settings as Settings
from keyhole.latent.inference import prototype_attention as prototype_attention
from keyhole.latent.inference import read_settings as read_settings
from keyhole.latent.models import BetaBernoulli as BetaBernoulli
from keyhole.latent.models import Draw as Draw
from keyhole.latent.models import FiniteModel as FiniteModel
from keyhole.latent.models import GaussianLocation as GaussianLocation
from keyhole.latent.models import GaussianMixture as GaussianMixture
from keyhole.latent.models import LinearRegression as LinearRegression
from keyhole.latent.models import MarkovChain as MarkovChain
from keyhole.latent.models import ModelWithKeys as ModelWithKeys
from keyhole.latent.models import ModelWithoutKeys as ModelWithoutKeys
from keyhole.latent.models import Polya as Polya
from keyhole.latent.models import SphereFunction as SphereFunction
from keyhole.latent.models import SphereProcess as SphereProcess
from keyhole.latent.models import Urn as Urn
from keyhole.latent.models import find_model as find_model
from keyhole.latent.models import model_names as model_names
from keyhole.latent.models import register_model as register_model
