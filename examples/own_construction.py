"""A construction of one's own: a conjunction without attention, compiled, proved on every input, saved and checked.

Every logit is 0, so each of the T + 1 tokens gets the same share and a unit sees (1 − mismatches)/(T + 1). That is
exact, and the read-out pays for it: its norm grows like T, where a head that looks needs only log T in its logits.

    python examples/own_construction.py
"""

from math import hypot
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import keyhole
from keyhole.boolean import SparseFunction, conjunction_pattern
from keyhole.compiler import constructions as kit
from keyhole.errors import CompileError


class EvenAttention(kit.Construction):
    """Conjunctions of literals by even attention: one unit for the pattern, one for the constant."""

    name, targets, layout = "even", ("even conjunction",), kit.PairLayout

    def plans(
        self, function: SparseFunction, context: int, leak: float, output: kit.Output, seed: int = 0
    ) -> list[kit.Plan]:
        """The pattern's column is 1/s where a literal is true and 1/s − 1 where it is not."""
        del leak, seed  # nothing is chosen and nothing drawn
        pattern = conjunction_pattern(function.rule)
        if pattern is None:
            raise CompileError("Even attention was asked for a function that is no conjunction; use another.")
        s, false = function.sparsity, kit.wanted(truth=False, output=output)
        agrees = np.eye(2)[np.array(pattern, dtype=int)]
        values = np.stack([1 / s - 1 + agrees, np.full((s, 2), 1 / s)], axis=-1)
        head = kit.HeadPlan(np.zeros(s), values, 0.0, np.zeros((2, 2)))
        readout, units = (context + 1) * np.array([1 - false, false]), ("pattern", "constant")
        off = {"gamma": 1 - s / (context + 1)}
        return [kit.Plan(function, kit.PairLayout(context), output, self.targets[0], (head,), readout, units, off)]

    def theorem_norms(self, plan: kit.Plan) -> dict[str, kit.TheoremNorm]:
        """No scores at all, and ‖w‖ = (T + 1)(gap² + level²)^½."""
        false = kit.wanted(truth=False, output=plan.output)
        readout = (plan.context + 1) * hypot(1 - false, false)
        return {"score_frobenius": kit.TheoremNorm("=", 0.0), "readout": kit.TheoremNorm("=", readout)}


if __name__ == "__main__":
    print(repr(keyhole.compile("x3 & ~x17", 64, construction=EvenAttention())))
    kit.register_construction(EvenAttention())  # from here on by name, and its files can be checked
    compiled = keyhole.compile("x3 & ~x17", 64, construction="even")
    print(f"read-out {compiled.norms['readout']:.1f}, by theorem {compiled.theorem['readout'].value:.1f}")
    with TemporaryDirectory() as folder:
        path = compiled.save(Path(folder) / "even.safetensors")
        print(f"check: {'as claimed' if keyhole.check(path).holds else 'NOT as claimed'}")
