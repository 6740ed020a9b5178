"""Our own exports are read as anybody's: a compiled function under TransformerLens' names is still that function."""

from itertools import product

import numpy as np
import pytest

import keyhole
from keyhole.compiler.export.lens import lens_config, lens_state
from keyhole.compiler.export.residual import to_residual, token_ids
from keyhole.errors import CheckpointError
from keyhole.pretrained import load_checkpoint

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


def test_a_compiled_file_is_told_from_a_checkpoint(tmp_path):
    """The file that `keyhole.compile` writes holds tables, not layers: it is refused with what reads it."""
    path = keyhole.compile(FORMULA, 6).save(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"was written by keyhole.*`keyhole\.check`"):
        load_checkpoint(path)
