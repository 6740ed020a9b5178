"""Learners: the one-layer transformer trained by gradient descent, and baselines without gradients.

Every module of this folder is imported here, so that a learner registers itself in its own file and nowhere else.
`keyhole.training.network`, which imports jax, is left until something is trained.
"""

from importlib import import_module
from pkgutil import iter_modules

from keyhole.training.learners.base import NUMERICS as NUMERICS
from keyhole.training.learners.base import PACKAGES as PACKAGES
from keyhole.training.learners.base import Fitted as Fitted
from keyhole.training.learners.base import Learner as Learner
from keyhole.training.learners.base import Method as Method
from keyhole.training.learners.base import Predictor as Predictor
from keyhole.training.learners.base import Reading as Reading
from keyhole.training.learners.base import learner_from_record as learner_from_record
from keyhole.training.learners.base import learner_named as learner_named
from keyhole.training.learners.base import learner_names as learner_names
from keyhole.training.learners.base import register_learner as register_learner
from keyhole.training.learners.scikit import Estimator as Estimator
from keyhole.training.learners.settings import SetSettings as SetSettings
from keyhole.training.learners.settings import TransformerSettings as TransformerSettings
from keyhole.training.learners.settings import change_settings as change_settings
from keyhole.training.learners.transformer import PRESET_DISTRIBUTIONS as PRESET_DISTRIBUTIONS
from keyhole.training.learners.transformer import DeepLearner as DeepLearner
from keyhole.training.learners.transformer import GradientLearner as GradientLearner
from keyhole.training.learners.transformer import TransformerLearner as TransformerLearner
from keyhole.training.learners.transformer import Weights as Weights
from keyhole.training.learners.transformer import preset as preset
from keyhole.training.learners.transformer import transformer_with_preset as transformer_with_preset

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
