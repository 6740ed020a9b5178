"""A trained run brought to the certifier: its model, its training set, and the law both came from."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import keyhole.api.compiled_start  # noqa: F401  (registers started:compiled)
from keyhole.api.trained_run import TrainedRun
from keyhole.boolean import SymbolLaw
from keyhole.errors import AssumptionError
from keyhole.files.atomic import home
from keyhole.sweeps.runs import RunSpec, Store, data_of, weights_of
from keyhole.training import Instance
from keyhole.training.learners import TransformerLearner


def read_run(name: str, store: str | Path | None = None, *, tell: Callable[[str], None] = lambda _: None) -> TrainedRun:
    """Return a run by the beginning of its name; train it again, and `tell` so, if its weights were not kept."""
    with Store(home(store), create=False) as kept:
        stored = kept.run(name)
        spec = RunSpec.from_record(stored.configuration)
        learner = spec.learner
        if not isinstance(learner, TransformerLearner):
            raise AssumptionError(f"The run {name} is of {learner.name}, which has no weights to certify.")
        weights = weights_of(kept, stored.row.identity, tell=tell)
    from keyhole.training.network.network import model_of  # imports jax

    if not all(np.isfinite(array).all() for array in weights.values()):
        raise AssumptionError(f"The run {name} diverged: its weights are not finite, so it computes nothing.")
    instance, examples = data_of(spec)
    sample = None if examples is None else (examples.inputs, examples.labels)
    return TrainedRun(
        name,
        stored.row.identity,
        model_of(learner.settings, weights),
        sample,
        law_of(instance),
        instance.balanced_sets,
        instance,
    )


def law_of(instance: Instance) -> SymbolLaw:
    """The law of the symbols as the learner sees them: noise flips a bit with its rate."""
    ones, noise = instance.law.p, instance.feature_noise
    seen = ones * (1 - noise) + (1 - ones) * noise
    count = int(instance.letters.sum())
    chances = np.where(instance.letters, seen / count, (1 - seen) / (instance.symbols - count))
    return SymbolLaw(tuple(float(chance) for chance in chances))
