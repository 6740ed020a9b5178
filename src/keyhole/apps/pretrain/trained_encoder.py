"""A trained network as a kind of attention, so that `keyhole.infer` can put it beside the exact posterior."""

from pathlib import Path

import numpy as np

from keyhole.apps.pretrain.network_tasks import NetworkModel, NetworkTask
from keyhole.files.atomic import home
from keyhole.latent.inference import Attention, Context, Settings
from keyhole.latent.models import FiniteModel
from keyhole.progress import Watch, ignore
from keyhole.sweeps.runs import Execution, RunSpec, Store, gather_runs, weights_of
from keyhole.training.learners import SetSettings

SEEN = (2, 4, 8, 16, 32)  # tokens of the sequences it is trained on
STEPS = 2000


def train_encoder(model: object, *, seed: int = 0, store: str | Path | None = None, watch: Watch = ignore) -> Attention:
    """Train a small encoder to predict a masked token of a model, or find it in the store of runs.

    The mean of a masked token is the posterior mean, which the encoder so approaches; beyond 32 tokens it
    extrapolates. `keyhole.infer(model, sizes, attention=["softmax", train_encoder(model)])` compares them.
    """
    finite = isinstance(model, FiniteModel)
    settings = SetSettings("encoder", "log" if finite else "squared", layers=1, batch=128, steps=STEPS)
    spec = RunSpec(NetworkTask(NetworkModel.of(model), SEEN, SEEN, "masked"), settings, max(SEEN), None, seed)
    with Store(home(store)) as kept:
        gather_runs([spec], kept, Execution(kept.folder, workers=1, keep_weights=True), watch)
        weights = weights_of(kept, spec.identity)
    from keyhole.training.network.sets import TrainedSet  # imports jax

    network = TrainedSet(settings, {name: array.astype(np.float32) for name, array in weights.items()}, ())

    def predict(_weights: np.ndarray, context: Context) -> np.ndarray:
        tokens = np.eye(model.letters)[context.tokens] if isinstance(model, FiniteModel) else context.tokens
        return np.asarray(network.predict(tokens[None].astype(np.float32)))

    return Attention(
        "trained",
        Settings(),
        f"an encoder of width {settings.width}, {settings.steps} steps on masked tokens at T = 2 to {max(SEEN)}",
        lambda context: np.zeros((len(context.queries), 0)),  # it answers as a whole, and mixes no rows
        predict,
        linear=False,
    )
