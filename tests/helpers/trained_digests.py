"""Digests of networks that this process trains, and of what they answer."""

import hashlib
import sys

import numpy as np

from keyhole.sweeps.runs import RunSpec, digest
from keyhole.sweeps.runs.run import run
from keyhole.training.learners import SetSettings
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import DeepLearner, TransformerLearner
from keyhole.training.network.sets import Batches, TrainedSet, train_set
from keyhole.training.task import SparseTask

SETTINGS = TransformerSettings(heads=2, width=4, hidden=4, batch=8, steps=20, every=20, dropout=0.1)


def coins(n: int) -> Batches:
    """Tosses of coins, and how many are heads."""
    tosses = (np.random.default_rng(n).random((n, 3, 1)) < 0.5).astype(np.float32)
    return Batches(tosses, np.full(n, 3), tosses.sum(axis=1))


def digests() -> dict[str, str]:
    """Of the transformer on a training set and on fresh samples, of two layers, and of an encoder of sets."""
    of_runs = {
        name: run(RunSpec(SparseTask("x0"), learner, 4, samples, 1)).weights_digest
        for name, learner, samples in [
            ("set", TransformerLearner(SETTINGS), 16),
            ("fresh", TransformerLearner(SETTINGS), None),
            ("deep", DeepLearner(layers=2, settings=SETTINGS), 16),
        ]
    }
    settings = SetSettings("encoder", "squared", layers=1, heads=1, width=4, batch=8, steps=4)
    *_, encoder = train_set(settings, coins, 1, 1, 3, 3, pause=4)
    read = TrainedSet(encoder.settings, encoder.parameters, ()).predict(coins(5).tokens)
    return {**of_runs, "encoder": digest(encoder.parameters), "read": hashlib.sha256(read.tobytes()).hexdigest()}


if __name__ == "__main__":
    sys.stdout.writelines(f"{key} {value}\n" for key, value in digests().items())
