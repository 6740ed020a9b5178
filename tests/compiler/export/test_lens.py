"""TransformerLens runs the block: the same numbers, and hooks that show the attention which was proved.

Whichever version is installed is asked: a HookedTransformer of version 3, a TransformerBridge of version 4.
"""

import sys
from importlib.metadata import version

import numpy as np
import pytest

from keyhole.attention.evaluation import evaluate
from keyhole.boolean.families import read_function
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.lens import lens_config, lens_state, to_lens
from keyhole.compiler.export.residual import to_residual, token_ids
from keyhole.compiler.proof import prove
from keyhole.errors import MissingError

from helpers.compiled_plans import CONTEXT, all_inputs, all_plans, targets

LONG, INPUTS, BATCH = 512, 10_000, 8
AND = read_function("x3 & x117 & x400")


def run(model, block, bits):
    """The lens's own forward pass, in batches."""
    import torch

    tokens = torch.from_numpy(token_ids(block, bits))
    with torch.no_grad():
        return torch.cat([model(part)[:, -1, 0] for part in tokens.split(BATCH)]).numpy()


@pytest.mark.slow
@pytest.mark.extra("transformer-lens")
def test_agrees_at_length():
    """At T = 512, 10⁴ random inputs in batches, in double precision: to 1e-9 and in sign with the tables."""
    plan = additive_plan(AND, LONG, 0.5, "signs")
    block = to_residual(plan)
    bits = np.random.default_rng(0).integers(0, 2, (INPUTS, LONG))
    bits[:3000, [3, 117, 400]] = 1  # or the true case would hardly occur
    read, tables = run(to_lens(block), block, bits), evaluate(to_tabulated(plan), bits)
    assert read.dtype == np.float64
    assert np.abs(read - tables).max() < 1e-9
    assert np.array_equal(np.sign(read), np.sign(tables))


@pytest.mark.extra("transformer-lens")
def test_hooks_show_the_attention_of_the_proof():
    """The pattern's last row is (1 − γ)/s on each relevant position, and γ in all on the others, as was proved."""
    import torch

    plan = pair_plans(AND, LONG, 0.3, "signs")[0]
    block = to_residual(plan)
    bits = np.random.default_rng(1).integers(0, 2, (4, LONG))
    model = to_lens(block)
    assert model.cfg.dtype == torch.float64
    _, cache = model.run_with_cache(torch.from_numpy(token_ids(block, bits)))
    pattern = cache["blocks.0.attn.hook_pattern"][:, 0, -1].numpy()
    assert pattern.dtype == np.float64
    assert pattern[:, [3, 117, 400]] == pytest.approx((1 - 0.3) / 3, rel=1e-12)
    assert (np.delete(pattern, [3, 117, 400], axis=1).sum(axis=1) <= prove(plan).leak + 1e-12).all()
    others = cache["blocks.0.attn.hook_pattern"][:, 0, :-1].numpy()
    assert others == pytest.approx(1 / (LONG + 1), rel=1e-12)  # any other query looks everywhere alike


@pytest.mark.extra("transformer-lens")
def test_every_construction_on_every_input():
    """All 2^T inputs at small T; the residual stream's named direction holds the output."""
    import torch

    bits = all_inputs(CONTEXT)
    plans = all_plans("x1 & ~x4 | x2")
    plans.append(add_distractor(plans[0], Distractor((0, 5), 0.2)))
    for plan in plans:
        block = to_residual(plan)
        model = to_lens(block)
        assert np.abs(run(model, block, bits) - targets(plan, bits)).max() < 1e-9
        _, cache = model.run_with_cache(torch.from_numpy(token_ids(block, bits[:3])))
        held = cache["blocks.0.hook_resid_post"][:, -1, block.directions.index("output")].numpy()
        assert held == pytest.approx(targets(plan, bits[:3]), abs=1e-9)


@pytest.mark.extra("transformer-lens")
def test_patching_a_gathered_direction_flips_the_output():
    """Writing 0 over what the head gathered at x1=1 and a over x1=0 makes the model see bit 1 as 0."""
    import torch

    plan = pair_plans(read_function("x1 & x4"), CONTEXT, 0.5, "signs")[0]
    block = to_residual(plan)
    model = to_lens(block)
    one, zero = (block.directions.index(f"head 0: attention on x1={symbol}") for symbol in (1, 0))

    def patch(stream, hook):  # noqa: ARG001  (version 4 knows the place by another name too)
        stream[:, -1, zero], stream[:, -1, one] = stream[:, -1, one].clone(), 0.0
        return stream

    tokens = torch.from_numpy(token_ids(block, np.ones((1, CONTEXT))))
    assert model(tokens)[0, -1, 0].item() == pytest.approx(1.0, abs=1e-9)
    patched = model.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_resid_mid", patch)])
    assert patched[0, -1, 0].item() == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.extra("transformer-lens")
def test_the_class_that_the_installed_version_has():
    """Version 3 gives a HookedTransformer, version 4 a TransformerBridge; both say double precision."""
    import torch

    first = int(version("transformer-lens").split(".")[0])
    model = to_lens(to_residual(all_plans("x3")[0]))
    assert type(model).__name__ == ("HookedTransformer" if first < 4 else "TransformerBridge")
    assert model.cfg.dtype == torch.float64


def test_state_has_the_shapes_the_configuration_states():
    """Every parameter of a HookedTransformer, in the shape its configuration gives it."""
    for plan in all_plans("maj(x1, x2, x5)"):
        block = to_residual(plan)
        config, state = lens_config(block), lens_state(block)
        h, d, e, k = (config[name] for name in ("n_heads", "d_model", "d_head", "d_mlp"))
        shapes = {name: array.shape for name, array in state.items()}
        assert shapes["embed.W_E"] == (config["d_vocab"], d)
        assert shapes["pos_embed.W_pos"] == (config["n_ctx"], d)
        assert {shapes[f"blocks.0.attn.W_{name}"] for name in "QKV"} == {(h, d, e)}
        assert shapes["blocks.0.attn.W_O"] == (h, e, d)
        assert (shapes["blocks.0.mlp.W_in"], shapes["blocks.0.mlp.W_out"]) == ((d, k), (k, d))
        assert shapes["unembed.W_U"] == (d, config["d_vocab_out"])


def test_says_what_is_missing(monkeypatch):
    """Without TransformerLens the export says how to get it."""
    monkeypatch.setitem(sys.modules, "transformer_lens", None)
    with pytest.raises(MissingError, match=r"pip install -e '.\[lens\]'"):
        to_lens(to_residual(all_plans("x3")[0]))
