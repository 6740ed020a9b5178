"""Our own exports are read as anybody's: a compiled function under TransformerLens' names is still that function."""

from importlib.metadata import version
from itertools import product

import numpy as np
import pytest

import keyhole
from keyhole.apps.heads.checkpoint_norms import checkpoint_norms
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.compiler.export.lens import lens_config, lens_state
from keyhole.compiler.export.residual import to_residual, token_ids
from keyhole.errors import CheckpointError

from helpers.plain_forward import run

FORMULA = "x1 & ~x3 | x4 ^ x0"


def test_a_compiled_function_read_back():
    """On all 2^6 inputs the checkpoint, evaluated by its definition at [CLS], has the sign of the function."""
    compiled = keyhole.compile(FORMULA, 6)
    block = to_residual(compiled.plan)
    checkpoint = load_checkpoint(lens_state(block), config=lens_config(block))
    checkpoint.require_complete()
    assert (checkpoint.causal, checkpoint.layers[0].feedforward.activation) == (False, "relu")
    bits = np.array(list(product((0, 1), repeat=6)))
    wanted = [bool((b[1] and not b[3]) or (b[4] != b[0])) for b in bits]
    found = [checkpoint.unembedding(run(checkpoint, row)[0][-1])[0] for row in token_ids(block, bits)]
    assert [value > 0 for value in found] == wanted
    assert np.abs(found).min() == pytest.approx(1, abs=1e-6)  # signs


def test_the_norms_of_a_compiled_file(tmp_path):
    """`checkpoint_norms` reads the file as the layer of its export: every head, by hand from the export's matrices."""
    compiled = keyhole.compile(FORMULA, 6)
    path = compiled.save(tmp_path / "model.safetensors")
    block = to_residual(compiled.plan)
    found = checkpoint_norms(path)
    assert len(found.heads) == len(block.query)
    for head, query, key in zip(found.heads, block.query, block.key, strict=True):
        wanted = np.linalg.norm(key @ query.T / np.sqrt(query.shape[1]), 2)
        assert head.trained["qk-spectral"] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.extra("transformer-lens")
def test_the_names_of_version_4():
    """A TransformerBridge's own state is read, and its last rows through our forward are the bridge's."""
    lens = pytest.importorskip("transformer_lens")
    if int(version("transformer-lens").split(".")[0]) < 4:
        pytest.skip("TransformerLens 3 is installed, and these are the names of version 4")
    import torch

    config = {
        "n_layers": 2, "d_model": 16, "n_ctx": 9, "d_head": 4, "n_heads": 4, "d_mlp": 24, "d_vocab": 11, "seed": 0,
        "act_fn": "relu", "normalization_type": "LN", "attention_dir": "causal",
        "positional_embedding_type": "standard",
    }  # fmt: skip
    bridge = lens.TransformerBridge.boot_native(config).double()
    state = {name: tensor.detach().numpy() for name, tensor in bridge.state_dict().items()}
    rng = np.random.default_rng(0)
    state = {name: rng.normal(scale=0.5, size=array.shape) for name, array in state.items()}
    bridge.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    checkpoint = load_checkpoint(state, config=config)
    assert (checkpoint.architecture, checkpoint.unknown) == ("transformer lens 4", ())
    tokens = np.array([3, 1, 4, 1, 5, 9])
    model = prepare(checkpoint)
    logits = checkpoint.unembedding(model.run(model.embed(tokens)[None])[0])
    with torch.no_grad():
        wanted = bridge(torch.from_numpy(tokens)[None])[0].numpy()
    assert logits == pytest.approx(wanted, rel=1e-5, abs=1e-5)  # its norms are computed in single precision


@pytest.mark.parametrize("setting", [{"attn_scores_soft_cap": 30.0}, {"use_local_attn": True}])
def test_settings_that_change_the_model(setting):
    """A cap on scores or a window is refused, and not left out."""
    block = to_residual(keyhole.compile(FORMULA, 6).plan)
    with pytest.raises(CheckpointError, match=next(iter(setting))):
        load_checkpoint(lens_state(block), config={**lens_config(block), **setting})


def test_a_compiled_file_is_told_from_a_checkpoint(tmp_path):
    """The file that `keyhole.compile` writes holds tables, not layers: the bare reader says what reads it."""
    path = keyhole.compile(FORMULA, 6).save(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"was written by keyhole.*`keyhole check`"):
        load_checkpoint(path)
