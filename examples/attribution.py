"""Does occlusion find the positions that matter? Compile models whose answer is known, and score it.

Run with: python examples/attribution.py
"""

import numpy as np

from keyhole.apps.tables.attribution import AttributionScore, score_attribution
from keyhole.apps.tables.suites import make_suite
from keyhole.attention.evaluation import evaluate
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.plan import Plan

CONTEXT, MODELS, INPUTS = 32, 14, 200


def occlusion(plan: Plan, bits: np.ndarray) -> np.ndarray:
    """How far the output moves when one bit is flipped, for every input and position."""
    tables = to_tabulated(plan)
    before = evaluate(tables, bits)
    moved = np.empty(bits.shape)
    for t in range(bits.shape[1]):
        flipped = bits.copy()
        flipped[:, t] ^= 1
        moved[:, t] = evaluate(tables, flipped) - before
    return moved.round(9)  # rounding is no response


def attention(plan: Plan, bits: np.ndarray) -> np.ndarray:
    """The attention of [CLS] averaged over heads: what one sees, which is not what is read."""
    scores = np.stack([np.append(plan.logits(head)[:, 0], 0.0) for head in plan.heads])
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    seen = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)[:-1]
    return np.tile(seen, (len(bits), 1))


def line(score: AttributionScore) -> str:
    """One method's figures."""
    return f"AUC {score.auc.value:.2f}, {score.auc_per_input.value:.2f} per input"


def main() -> None:
    """Compile, attribute, score."""
    bits = np.random.default_rng(0).integers(0, 2, (INPUTS, CONTEXT))
    for member in make_suite(MODELS, CONTEXT).models:
        positions = member.plan.function.positions
        occluded, looked = (
            score_attribution(method(member.plan, bits), positions) for method in (occlusion, attention)
        )
        print(f"{member.family:10} {member.plan.construction:26} occlusion {line(occluded)}; attention {line(looked)}")


if __name__ == "__main__":
    main()
