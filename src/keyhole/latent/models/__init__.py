"""Latent models with exact posteriors: each file here defines models and registers them by name."""

from importlib import import_module
from pkgutil import iter_modules

from keyhole.latent.models.base import Draw as Draw
from keyhole.latent.models.base import Sampler as Sampler
from keyhole.latent.models.base import letter_counts as letter_counts
from keyhole.latent.models.base import sum_zero_basis as sum_zero_basis
from keyhole.latent.models.conjugate import BetaBernoulli as BetaBernoulli
from keyhole.latent.models.conjugate import GaussianLocation as GaussianLocation
from keyhole.latent.models.conjugate import Polya as Polya
from keyhole.latent.models.finite import FiniteLatent as FiniteLatent
from keyhole.latent.models.finite import FiniteModel as FiniteModel
from keyhole.latent.models.finite import count_vectors as count_vectors
from keyhole.latent.models.finite import counts_of as counts_of
from keyhole.latent.models.finite import entropies as entropies
from keyhole.latent.models.finite import log_multinomials as log_multinomials
from keyhole.latent.models.linear import LinearRegression as LinearRegression
from keyhole.latent.models.mixture import GaussianMixture as GaussianMixture
from keyhole.latent.models.not_exchangeable import MarkovChain as MarkovChain
from keyhole.latent.models.not_exchangeable import Urn as Urn
from keyhole.latent.models.registry import find_model as find_model
from keyhole.latent.models.registry import model_names as model_names
from keyhole.latent.models.registry import register_model as register_model
from keyhole.latent.models.sphere import SphereFunction as SphereFunction
from keyhole.latent.models.sphere import SphereProcess as SphereProcess
from keyhole.latent.models.sphere import draw_sphere_function as draw_sphere_function
from keyhole.latent.models.sphere import uniform_on_sphere as uniform_on_sphere
from keyhole.latent.models.with_keys import ModelWithKeys as ModelWithKeys
from keyhole.latent.models.without_keys import ModelWithoutKeys as ModelWithoutKeys

for _module in iter_modules(__path__):  # a file that registers a model is found without being listed
    import_module(f"{__name__}.{_module.name}")
