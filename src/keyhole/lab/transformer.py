"""The learner this laboratory is about: one layer of attention read at [CLS], trained by gradient descent.

The settings are plain values; jax wakes only when something is trained.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.lab.learner import Fitted
from keyhole.lab.task import Examples, Instance


@dataclass(frozen=True)
class Transformer:
    """Every choice that decides a training run, but for the data and the seed."""

    heads: int = 4
    width: int = 64
    hidden: int = 128  # units of the feed-forward part; 0: none
    activation: Literal["gelu", "relu"] = "gelu"
    norm: Literal["none", "pre", "post"] = "post"
    residual: bool = True
    positions: Literal["learned", "fixed"] = "learned"
    embedding_scale: float = 0.1  # standard deviation of token, position and [CLS] vectors at the start
    score_scale: float = 1.0  # factor on the start of W_Q and W_K
    weight_scale: float | None = None  # standard deviation of all matrices at the start; None: 1/√inputs
    optimizer: Literal["adam", "sgd"] = "adam"
    rate: float = 3e-3
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0  # steps over which the rate rises
    momentum: float = 0.9
    second_moment: float = 0.999
    decay: float = 0.1
    decay_kind: Literal["decoupled", "coupled"] = "decoupled"
    dropout: float = 0.0  # on what attention and the feed-forward part add; never on tokens
    batch: int = 64  # 0: the whole training set
    steps: int = 2000  # at most
    tolerance: float = 0.01  # stop when the training loss is at or below it; 0: never
    every: int = 50  # steps between readings

    def __post_init__(self) -> None:
        if self.width % self.heads or min(self.heads, self.width, self.steps, self.every) < 1:
            raise ArgumentError(
                f"{self.heads} heads of a width of {self.width}, {self.steps} steps and a reading every {self.every} "
                "were asked for; all are at least 1, and the heads divide the width."
            )
        if min(self.hidden, self.batch, self.warmup, self.tolerance) < 0:
            raise ArgumentError("Hidden units, batch, warm-up and tolerance are at least 0; give no negative number.")
        if not (self.rate > 0 and self.decay >= 0 and 0 <= self.dropout < 1):
            raise ArgumentError(
                f"A rate of {self.rate}, a decay of {self.decay} and a dropout of {self.dropout} were asked for; the "
                "rate is above 0, the decay at least 0, the dropout below 1."
            )

    @property
    def name(self) -> str:
        """How a person names it."""
        return "transformer"

    def record(self) -> dict[str, Any]:
        """Its name and every setting."""
        return {"name": self.name, **asdict(self)}

    def fit(self, instance: Instance, examples: Examples | None, seed: np.random.SeedSequence) -> Fitted:
        """Train on these examples, or on fresh ones when there are none."""
        from keyhole.lab.training import train  # noqa: PLC0415  (jax wakes here)

        return train(self, instance, examples, seed)


SETTINGS = tuple(field.name for field in fields(Transformer))
