"""Compiled weights as the start of training: the network computes the hidden function before its first step.

A learner that starts from them is given the function: success means that training kept it. The same network from its
usual random start, `started:random`, has to find it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from keyhole.boolean import SparseFunction
from keyhole.compiler import choose
from keyhole.errors import ArgumentError
from keyhole.training.learners import TransformerLearner, TransformerSettings, Weights, register_learner

USED = 3  # coordinates of a token: its logit, its bit, and 1 for all tokens but [CLS]
PLAIN = TransformerSettings(norm="none", residual=False, activation="relu")  # units as the constructions have them


@dataclass(frozen=True)
class StartedLearner(TransformerLearner):
    """The network of the constructions, from its usual random start."""

    settings: TransformerSettings = PLAIN
    start: ClassVar[str] = "random"

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return f"started:{self.start}"

    def record(self) -> dict[str, Any]:
        """Return the name, the start and every setting."""
        return {"name": self.name, "start": {"name": self.start}, **self.settings.record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "StartedLearner":
        """Make the learner of a record."""
        start = {name: value for name, value in record["start"].items() if name != "name"}
        settings = {name: value for name, value in record.items() if name not in {"name", "start"}}
        return started(record["start"]["name"])(TransformerSettings(**settings), **start)


@dataclass(frozen=True)
class CompiledStart(StartedLearner):
    """The same network, from weights that compute the hidden function."""

    rho: float = 0.5  # the leak ratio
    target: SparseFunction | None = field(default=None, compare=False, repr=False)
    start: ClassVar[str] = "compiled"
    remark: ClassVar[str] = (
        "started:compiled starts from weights that compute the hidden function: success means that training kept it"
    )

    def record(self) -> dict[str, Any]:
        """Return the name, the start with its leak ratio, and every setting."""
        return super().record() | {"start": {"name": self.start, "rho": self.rho}}

    def with_target(self, function: SparseFunction) -> "CompiledStart":
        """Return the learner with the function to start from."""
        return replace(self, target=function)

    def starting_weights(self, usual: Weights) -> Weights:
        """Return the weights to start from, in single precision."""
        if self.target is None:
            raise ArgumentError(f"{self.name} was asked to train without a function to start from; give it one.")
        weights = compiled_weights(self.settings, self.target, usual, self.rho)
        return {name: array.astype(np.float32) for name, array in weights.items()}


def compiled_weights(
    settings: TransformerSettings, function: SparseFunction, usual: Weights, rho: float
) -> dict[str, np.ndarray]:
    """Return construction B (additive) of the function in the first head and the first units; the rest is `usual`.

    Statement  The network's number for an input is the construction's, whatever the usual weights are.
    Assumes    No norm, no residual, ReLU units, at least as many as the construction has; two symbols.
    Proof      Coordinate 0 of a token is its position's logit, 1 its bit, 2 is 1 but for [CLS], whose three are 0. The
               first head's query reads coordinate 0 alone; its first two values are coordinates 1 and 2. So their
               mixtures are the weight B on ones, and the weight M on tokens; unit j is ReLU(M·v_j(0) + B·(v_j(1) −
               v_j(0))), which is the construction's, whose [CLS] has the value 0. No other entry reaches the first
               units, and the read-out reads these alone.
    Source     Ours: Construction B, embedded.
    """
    context = len(usual["positions"])
    plan = choose(function, context, "additive", leak=rho).plan
    _require_room(settings, plan.width, len(usual["tokens"]))
    (head,) = plan.heads
    w = {name: np.array(array, dtype=np.float64) for name, array in usual.items()}
    places, own = list(function.positions), settings.width // settings.heads
    w["positions"][:, :USED] = 0.0
    w["positions"][np.delete(np.arange(context), places), 0] = head.rest_logits
    w["positions"][places, 0] = head.symbol_focus[:, 0]
    w["tokens"][:, :USED] = [(0.0, 0.0, 1.0), (0.0, 1.0, 1.0)]
    w["cls"][:USED] = 0.0
    for name, bias in (("query", "query_bias"), ("value", "value_bias")):
        w[name][:, :own], w[bias][:own] = 0.0, 0.0
    w["query_bias"][0] = sqrt(own)
    w["key"][:, 0] = np.eye(settings.width)[0]
    w["value"][[1, 2], [0, 1]] = 1.0
    w["output"][:, :2], w["output_bias"][:2] = 0.0, 0.0
    w["output"][[0, 1], [0, 1]] = 1.0
    zero, one = head.rest_values
    w["inner"][:, : plan.width], w["inner_bias"][: plan.width] = 0.0, 0.0
    w["inner"][:2, : plan.width] = one - zero, zero
    w["outer"][:, 0], w["outer_bias"][0] = 0.0, 0.0
    w["outer"][: plan.width, 0] = plan.readout
    w["readout"][:], w["readout_bias"] = np.eye(settings.width)[0], np.zeros(())
    return w


def _require_room(settings: TransformerSettings, units: int, symbols: int) -> None:
    """Refuse a network that cannot hold the construction."""
    plain = settings.norm == "none" and not settings.final_norm and not settings.residual
    if not (plain and settings.activation == "relu" and not settings.cls_position and symbols == 2):
        raise ArgumentError(
            "Compiled weights were asked for as a start, and the network has a norm, a residual, other units than "
            "ReLU, a position of [CLS], or more than two symbols. Use norm none, residual false, activation relu, two "
            "symbols."
        )
    own = settings.width // settings.heads
    if settings.hidden < units or settings.width < USED or own < 2:
        raise ArgumentError(
            f"Compiled weights have {units} units, and the network has {settings.hidden}, with heads of width {own}; "
            f"use at least {units} hidden units, and heads of width 2 or more."
        )


def started(start: str) -> type[StartedLearner]:
    """Return the learner of this start."""
    kinds = {kind.start: kind for kind in (StartedLearner, CompiledStart)}
    if start not in kinds:
        raise ArgumentError(f"{start!r} is not a start; there are {', '.join(sorted(kinds))}.")
    return kinds[start]


register_learner("started:", lambda start: started(start)(), StartedLearner.from_record)
