"""Learners: the one-layer transformer trained by gradient descent, and baselines without gradients.

Every module of this folder is imported here, so that a learner registers itself in its own file and nowhere else. The
sub-package `training`, which imports jax, is left until something is trained.
"""

from importlib import import_module
from pkgutil import iter_modules

from keyhole.training.learners.base import (
    CountsSteps,
    Fitted,
    Learner,
    Observable,
    OnlineLearner,
    Predictor,
    Reading,
    StatesLimits,
    StatesMemory,
    StatesNumerics,
    StatesPackages,
    ToldTarget,
    Validating,
)
from keyhole.training.learners.deep import DeepLearner
from keyhole.training.learners.presets import PRESET_DISTRIBUTIONS, preset
from keyhole.training.learners.registry import (
    learner_from_record,
    learner_named,
    learner_names,
    register_family,
    register_learner,
)
from keyhole.training.learners.scikit import Estimator
from keyhole.training.learners.set_settings import SetSettings
from keyhole.training.learners.settings import TransformerSettings, change_settings
from keyhole.training.learners.started import Start, StartedLearner, Weights, register_start
from keyhole.training.learners.transformer import TransformerLearner, transformer_with_preset

__all__ = [
    "PRESET_DISTRIBUTIONS",
    "CountsSteps",
    "DeepLearner",
    "Estimator",
    "Fitted",
    "Learner",
    "Observable",
    "OnlineLearner",
    "Predictor",
    "Reading",
    "SetSettings",
    "Start",
    "StartedLearner",
    "StatesLimits",
    "StatesMemory",
    "StatesNumerics",
    "StatesPackages",
    "ToldTarget",
    "TransformerLearner",
    "TransformerSettings",
    "Validating",
    "Weights",
    "change_settings",
    "learner_from_record",
    "learner_named",
    "learner_names",
    "preset",
    "register_family",
    "register_learner",
    "register_start",
    "transformer_with_preset",
]

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
