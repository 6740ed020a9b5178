"""The settings of the transformer, and of a network that reads a set: plain values that decide it and its training."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import inf, isfinite
from typing import Any, get_type_hints

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Method

CHOICES = {
    "activation": ("gelu", "relu"),
    "norm": ("none", "pre", "post"),
    "positions": ("learned", "fixed"),
    "optimizer": ("adam", "sgd"),
    "schedule": ("constant", "cosine"),
    "decay_kind": ("decoupled", "coupled"),
}
LATER = {"final_norm", "attention_dropout", "cls_position", "path_penalty"}  # in a record only of runs that use them


@dataclass(frozen=True)
class TransformerSettings:
    """Every choice that decides a training run of the transformer, but for the data and the seed."""

    heads: int = 4
    width: int = 64
    hidden: int = 128  # units of the feed-forward part; 0: none
    activation: str = "gelu"  # or any other of CHOICES
    norm: str = "post"
    norm_eps: float = 1e-5  # added to the variance in a norm
    residual: bool = True
    positions: str = "learned"
    embedding_scale: float = 0.1  # standard deviation of token, position and [CLS] vectors at the start
    score_scale: float = 1.0  # factor on the start of W_Q and W_K
    weight_scale: float | None = None  # standard deviation of all matrices at the start; None: 1/√inputs
    optimizer: str = "adam"
    rate: float = 3e-3
    schedule: str = "constant"
    warmup: int = 0  # steps over which the rate rises
    momentum: float = 0.9
    second_moment: float = 0.999
    decay: float = 0.1
    decay_kind: str = "decoupled"
    dropout: float = 0.0  # on what attention and the feed-forward part add; never on tokens
    batch: int = 64  # 0: the whole training set
    steps: int = 2000  # at most; a multiple of `every`
    tolerance: float = 0.01  # stop when the training loss is at or below it; 0: never
    every: int = 50  # steps between readings
    final_norm: bool = False  # a norm before the read-out
    attention_dropout: float = 0.0  # on the weights of attention, of each head, sequence and token apart
    cls_position: bool = False  # a position vector for [CLS], beside its own: Adam then moves the sum by both
    path_penalty: float = 0.0  # weight in the loss of the path norm P_∞, which bounds on the gap are made of

    def __post_init__(self) -> None:
        if self.width % self.heads or min(self.heads, self.width, self.steps, self.every) < 1:
            raise ArgumentError(
                f"{self.heads} heads of a width of {self.width}, {self.steps} steps and a reading every {self.every} "
                "were asked for; all are at least 1, and the heads divide the width."
            )
        if self.steps % self.every:
            raise ArgumentError(
                f"{self.steps} steps with a reading every {self.every} were asked for; training goes from reading to "
                "reading, so use a number of steps that this divides."
            )
        if min(self.hidden, self.batch, self.warmup, self.tolerance) < 0:
            raise ArgumentError("Hidden units, batch, warm-up and tolerance are at least 0; give no negative number.")
        if not all(isfinite(number) for number in (self.rate, self.decay, self.embedding_scale, self.score_scale)):
            raise ArgumentError("A rate, a decay and the scales of the start are finite numbers; one is not.")
        if not (self.rate > 0 and self.decay >= 0 and 0 <= self.dropout < 1 and self.norm_eps > 0):
            raise ArgumentError(
                f"A rate of {self.rate}, a decay of {self.decay}, a dropout of {self.dropout} and a norm_eps of "
                f"{self.norm_eps} were asked for; rate and norm_eps are above 0, the decay is at least 0, the dropout "
                "below 1."
            )
        if not 0 <= self.attention_dropout < 1:
            raise ArgumentError(
                f"A dropout of {self.attention_dropout} on attention was asked for; it is at least 0 and below 1."
            )
        self._require_path_norm()
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ArgumentError(f"{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}.")

    def _require_path_norm(self) -> None:
        """Refuse a penalty that is none, and one on a path norm that is not there."""
        if not 0 <= self.path_penalty < inf:
            raise ArgumentError(
                f"A penalty of {self.path_penalty} on the path norm was asked for; it is at least 0 and finite."
            )
        if self.path_penalty and not self.has_path_norm:
            raise ArgumentError(
                "A penalty on the path norm was asked for with a norm behind attention, which then does not exist; "
                "use the norm none and no final norm."
            )

    @property
    def has_path_norm(self) -> bool:
        """Return whether the layer has a path norm P_∞, which bounds need: no norm stands behind attention."""
        return not self.final_norm and (self.norm == "none" or (self.norm == "pre" and not self.hidden))

    def record(self) -> dict[str, Any]:
        """Every setting as plain values; what came after the first runs were named stands in it only if it is used.

        The record names and seeds a run: a field more would draw other data for every run there is.
        """
        return {name: value for name, value in asdict(self).items() if name not in LATER or value}


def change_settings(settings: TransformerSettings, changes: Mapping[str, str | float | None]) -> TransformerSettings:
    """The settings with some of them changed, by name; a value may be the text that spells it.

    >>> change_settings(TransformerSettings(), {"width": "32", "heads": 2}).width
    32
    """
    kinds = get_type_hints(TransformerSettings)
    for name in changes:
        if name not in kinds:
            known = ", ".join(field.name for field in fields(TransformerSettings))
            raise ArgumentError(f"The transformer has no setting {name!r}; there are {known}.")
    return replace(settings, **{name: _value(name, value, kinds[name]) for name, value in changes.items()})


def _value(name: str, value: object, kind: object) -> Any:
    """The value of a setting as its kind has it."""
    text = str(value).strip()
    words = {"true": True, "false": False} if kind is bool else {"none": None} if kind == float | None else {}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return text if kind is str else int(text) if kind is int else float(text if kind is not bool else "no")
    except ValueError as error:
        wanted = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a number, or none")  # type: ignore[call-overload]
        raise ArgumentError(f"The setting {name} was given {text!r}; it is {wanted}.") from error


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
