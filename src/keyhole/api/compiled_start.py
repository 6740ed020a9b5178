"""Compiled weights as the start of training: the lab's network, computing the hidden function before its first step."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from keyhole.boolean import SparseFunction
from keyhole.compiler import choose
from keyhole.errors import ArgumentError
from keyhole.training.learners import TransformerSettings, Weights, register_start

USED = 3  # coordinates of a token: its logit, its bit, and that it is no [CLS]


@dataclass(frozen=True)
class CompiledStart:
    """Construction B (additive) of the hidden function, in the first head and the first units; the rest is random.

    Statement  At the start the network's number for an input is the construction's, whatever the random weights are.
    Assumes    No norm, no residual, ReLU units, at least as many as the construction has; two symbols.
    Proof      Coordinate 0 of a token is its position's logit, 1 its bit, 2 is 1 but for [CLS], whose three are 0. The
               first head's query reads coordinate 0 alone; its first two values are coordinates 1 and 2. So their
               mixtures are the weight B on ones, and the weight M on tokens; unit j is ReLU(M·v_j(0) + B·(v_j(1) −
               v_j(0))), which is the construction's, whose [CLS] has the value 0. No other entry reaches the first
               units, and the read-out reads these alone.
    Source     Ours: Construction B, embedded.
    """

    rho: float = 0.5  # the leak ratio
    name: ClassVar[str] = "compiled"

    def record(self) -> dict[str, Any]:
        """Its name and the leak ratio."""
        return {"name": self.name, "rho": self.rho}

    def weights(self, settings: TransformerSettings, function: SparseFunction, usual: Weights) -> Weights:
        """The random weights with the construction in their first coordinates."""
        context = len(usual["positions"])
        plan = choose(function, context, "additive", leak=self.rho).plan
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


register_start(CompiledStart.name, CompiledStart)
