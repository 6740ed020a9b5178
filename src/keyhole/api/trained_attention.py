"""A trained network as a kind of attention, so that it can be put beside the exact posterior."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.apps.pretrain.network_tasks import NetworkModel, NetworkTask
from keyhole.files.paths import home
from keyhole.latent.inference import Attention, Chosen, Context, Posterior, Prediction, Problem, Settings
from keyhole.latent.models import FiniteModel
from keyhole.progress import Watch, ignore
from keyhole.sweeps.runs import RunSpec, Store, gather_weights
from keyhole.training.learners import SetSettings

SEEN = (2, 4, 8, 16, 32)  # tokens of the sequences it is trained on
STEPS = 2000
THEORY = "nothing exact is known of a trained network; beyond 32 tokens it extrapolates"


class TrainedEncoder(Attention):
    """A small Transformer encoder that was trained to predict a masked token, whose mean is the posterior mean."""

    name: ClassVar[str] = "trained"
    power_law: ClassVar[bool] = False

    def __init__(self, network: Any, letters: int) -> None:
        self.network, self.letters = network, letters  # letters: 0 where tokens are numbers

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "TrainedEncoder":  # noqa: ARG003
        """Train one, or find it in the store of runs."""
        return train_encoder(problem)

    @property
    def words(self) -> str:
        """How it was trained."""
        settings = self.network.settings
        return f"an encoder of width {settings.width}, {settings.steps} steps on masked tokens at T = 2 to {max(SEEN)}"

    @property
    def chosen(self) -> Chosen:
        """Nothing that theory speaks of."""
        return Chosen(self.name)

    @property
    def takes(self) -> tuple[str, ...]:
        """No setting."""
        return ()

    @property
    def prediction(self) -> Prediction:
        """What theory says of it."""
        return Prediction(THEORY)

    def weigh(self, context: Context) -> np.ndarray:
        """No rows of a context are mixed: the network answers as a whole."""
        return np.zeros((len(context.queries), 0))

    def mix(self, weights: np.ndarray, context: Context) -> np.ndarray:  # noqa: ARG002
        """The network's prediction of a further token."""
        tokens = np.eye(self.letters)[context.tokens] if self.letters else context.tokens
        return np.asarray(self.network.predict(tokens[None].astype(np.float32)))

    def expected(self, weights: np.ndarray, context: Context, posterior: Posterior) -> tuple[None, None]:  # noqa: ARG002
        """Not known."""
        return None, None


def train_encoder(
    model: object, *, seed: int = 0, store: str | Path | None = None, watch: Watch = ignore
) -> TrainedEncoder:
    """An encoder trained on masked tokens of a model, or found in the store; other kinds of models are refused."""
    plain = NetworkModel.of(model)
    finite = isinstance(model, FiniteModel)
    settings = SetSettings("encoder", "log" if finite else "squared", layers=1, batch=128, steps=STEPS)
    spec = RunSpec(NetworkTask(plain, SEEN, SEEN, "masked"), settings, max(SEEN), None, seed)
    with Store(home(store)) as kept:
        weights = gather_weights(spec, kept, watch=watch)
    from keyhole.training.network.sets import TrainedSet  # imports jax

    arrays = {name: array.astype(np.float32) for name, array in weights.items()}
    return TrainedEncoder(TrainedSet(settings, arrays, ()), model.letters if isinstance(model, FiniteModel) else 0)
