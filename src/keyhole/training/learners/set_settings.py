"""The settings of a network that reads a set of tokens: plain values that decide the network and its training."""

from dataclasses import dataclass

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Method

NETWORKS = ("encoder", "pooling", "positions")
LOSSES = ("log", "squared")


@dataclass(frozen=True)
class SetSettings(Method):
    """Every choice that decides a network of a set of tokens, but for the data and the seed.

    `encoder` is a pre-norm Transformer read at [CLS], without positions; `pooling` (DeepSets) is a network of the mean
    of token-wise units; `positions` is a network of all tokens side by side, with weights of its own for each.
    """

    network: str = "encoder"
    loss: str = "log"  # or squared
    layers: int = 2  # of the encoder
    heads: int = 4
    width: int = 32
    hidden: int = 64
    rate: float = 3e-3  # the largest; cosine to a hundredth of it after a warm-up of a twentieth of the steps
    batch: int = 128
    steps: int = 2000

    def __post_init__(self) -> None:
        if self.network not in NETWORKS or self.loss not in LOSSES:
            raise ArgumentError(
                f"The network {self.network!r} with the loss {self.loss!r} was asked for; networks are "
                f"{', '.join(NETWORKS)}, losses {', '.join(LOSSES)}."
            )
        if self.width % self.heads or min(self.layers, self.heads, self.width, self.hidden, self.batch, self.steps) < 1:
            raise ArgumentError(
                f"{self.layers} layers of {self.heads} heads and a width of {self.width}, {self.hidden} hidden units, "
                f"a batch of {self.batch} and {self.steps} steps were asked for; all are at least 1, and the heads "
                "divide the width."
            )

    @property
    def name(self) -> str:
        """Return the name of the network."""
        return self.network
