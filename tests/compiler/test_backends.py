"""One compiled model, the same numbers in numpy and in jax."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.attention.evaluation import evaluate, evaluate_by_softmax
from keyhole.boolean.families import read_function
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import head_per_position_plan

AND = read_function("x3 & x117 & ~x400")
LONG, INPUTS = 512, 10_000


def in_jax(tabulated, jnp):
    """The same tables as jax arrays."""
    heads = tuple(
        replace(
            head, **{name: jnp.asarray(getattr(head, name)) for name in ("scores", "values", "cls_score", "cls_value")}
        )
        for head in tabulated.heads
    )
    readout = replace(tabulated.readout, weight=jnp.asarray(tabulated.readout.weight))
    return replace(tabulated, heads=heads, stream=jnp.asarray(tabulated.stream), readout=readout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        pair_plans(AND, LONG, 0.5, "signs")[0],
        additive_plan(AND, LONG, 0.5, "signs"),
        head_per_position_plan(AND, LONG, 0.5, "signs"),
    ],
    ids=lambda plan: plan.construction,
)
def test_numpy_and_jax_agree(plan):
    """At T = 512, 10⁴ random inputs in batches: to 1e-9 and in sign, both with the function."""
    import jax
    import jax.numpy as jnp

    bits = np.random.default_rng(0).integers(0, 2, (INPUTS, LONG))
    bits[:3000, [3, 117]], bits[:3000, 400] = 1, 0  # or the true case would hardly occur
    truth = np.where(plan.function(bits.astype(bool)), 1.0, -1.0)
    tabulated = to_tabulated(plan)
    assert np.abs(evaluate(tabulated, bits) - truth).max() < 1e-9
    with jax.enable_x64(True):  # noqa: FBT003  (jax's own name)
        tables = in_jax(tabulated, jnp)
        parts = [evaluate_by_softmax(tables, jnp.asarray(part)) for part in np.array_split(bits, 10)]
        read = np.concatenate([np.asarray(part) for part in parts])
    assert read.dtype == np.float64
    assert np.abs(read - truth).max() < 1e-9
    assert np.array_equal(np.sign(read), truth)
