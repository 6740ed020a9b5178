"""Files are proved anew from their numbers; torch and TransformerLens fill the slots as numpy does."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import read_circuit
from keyhole.compiler.circuits import (
    circuit_plan,
    circuit_to_lens,
    circuit_torch_source,
    inspect_circuit,
    load_circuit,
    prove_circuit,
    save_circuit,
    to_dense,
)
from keyhole.compiler.circuits.export import circuit_lens_config, circuit_lens_state
from keyhole.compiler.circuits.model_file import description_of, tables
from keyhole.compiler.inspection import load_undamaged
from keyhole.errors import CheckpointError
from keyhole.files.model import read_model, write_model

from helpers.circuits import random_circuit, words

CASES = ["a = x3 & x5; b = maj(x1, x2, a); a ^ b", "parity:6", "majority:5", "1"]


def plan_of(text, mode, context=7):
    """A plan of some lines at fan-in 3."""
    return circuit_plan(read_circuit(text, 3), context, mode)


@pytest.mark.parametrize("mode", ["layers", "steps"])
@pytest.mark.parametrize("text", CASES)
def test_a_file_is_proved_anew(text, mode, tmp_path):
    """Every check passes, and the plan that is read is the plan that was written."""
    plan = plan_of(text, mode)
    stored = read_model(save_circuit(plan, prove_circuit(plan), tmp_path / "c.safetensors"))
    assert all(check.holds for check in inspect_circuit(stored)), inspect_circuit(stored)
    again = load_circuit(stored)
    assert again.circuit == plan.circuit
    assert all(np.array_equal(array, tables(again)[name]) for name, array in tables(plan).items())


@given(st.data())
def test_a_changed_number_fails(tmp_path_factory, data):
    """Any number of any table, honestly described: the construction or the proof says so."""
    plan = plan_of(CASES[0], data.draw(st.sampled_from(["layers", "steps"])))
    name = data.draw(st.sampled_from(["focus", "starts", "signs", "offsets", "weights", "silence"]))
    array = np.array(getattr(plan, name), dtype=np.float64)
    array[np.unravel_index(data.draw(st.integers(0, array.size - 1)), array.shape)] += 0.01
    changed = replace(plan, **{name: array if array.ndim else float(array)})
    place = tmp_path_factory.mktemp("changed") / "c.safetensors"
    write_model(place, tables(changed), description_of(plan, prove_circuit(plan)) | {"dense": False})
    failed = {check.name for check in inspect_circuit(read_model(place)) if not check.holds}
    assert "construction" in failed


def test_damage_and_strangers_are_refused(tmp_path):
    """A file that was cut or whose text was changed fails; other readers say what it is."""
    plan = plan_of(CASES[0], "layers")
    place = save_circuit(plan, prove_circuit(plan), tmp_path / "c.safetensors")
    with pytest.raises(CheckpointError, match="holds a compiled circuit"):
        load_undamaged(read_model(place), place)
    content = place.read_bytes()
    place.write_bytes(content.replace(b"maj(x1, x2, a)", b"maj(x1, x4, a)"))
    assert "digests" in {check.name for check in inspect_circuit(read_model(place)) if not check.holds}
    place.write_bytes(content[:-8])
    assert [check.holds for check in inspect_circuit(read_model(place))] == [False]


def test_state_has_the_shapes_the_configuration_states():
    """Every layer's parameters, in one width."""
    dense = to_dense(plan_of(CASES[0], "layers"))
    config, state = circuit_lens_config(dense), circuit_lens_state(dense)
    assert config["n_layers"] == 3
    for layer in range(3):
        shape = (config["n_heads"], config["d_model"], config["d_head"])
        assert state[f"blocks.{layer}.attn.W_Q"].shape == shape
        assert state[f"blocks.{layer}.mlp.W_in"].shape == (config["d_model"], config["d_mlp"])
    assert json.dumps(config)


def circuits():
    """The cases, and some random circuits."""
    rng = np.random.default_rng(8)
    yield from (read_circuit(text, 3) for text in CASES)
    yield from (random_circuit(rng, int(rng.integers(1, 9)), 7, 3) for _ in range(6))


@pytest.mark.extra("torch")
@pytest.mark.parametrize("mode", ["layers", "steps"])
def test_torch_fills_the_slots(mode):
    """The written module alone gives every gate on every input, and names its units by gates."""
    import torch

    for circuit in circuits():
        plan = circuit_plan(circuit, 7, mode)
        scope = {}
        exec(compile(circuit_torch_source(plan, prove_circuit(plan)), "c.py", "exec"), scope)  # noqa: S102
        model = scope["Compiled"]()
        with torch.no_grad():
            shown = model.slots(torch.from_numpy(words(7))).numpy()
        assert np.abs(shown - (2.0 * circuit(words(7)) - 1)).max() < 1e-9
        assert {name for names in model.units for name in names} == set(circuit.names)
        with pytest.raises(ValueError, match=r"bits of shape \(n, 7\)"):
            model(torch.zeros((1, 6)))


@pytest.mark.extra("transformer-lens")
@pytest.mark.parametrize("mode", ["layers", "steps"])
def test_transformer_lens_fills_the_slots(mode):
    """A model of several layers, or a causal one that is run step by step: every gate on every input."""
    import torch

    for circuit in circuits():
        plan = circuit_plan(circuit, 7, mode)
        dense = to_dense(plan)
        model, tokens = circuit_to_lens(dense), torch.from_numpy(dense.words(words(7)))
        assert model.cfg.n_layers == (circuit.depth if mode == "layers" else 1)
        with torch.no_grad():
            shown = model(tokens)[:, 7:, 0]
            for gate in range(len(circuit.gates) if mode == "steps" else 0):
                shown[:, gate] = model(tokens)[:, 7 + gate, 0]
                tokens[:, 7 + gate] = (shown[:, gate] > 0).long()
        assert np.abs(shown.numpy() - (2.0 * circuit(words(7)) - 1)).max() < 1e-9


@pytest.mark.extra("transformer-lens")
def test_hooks_show_the_heads_of_every_layer():
    """In its layer a slot's head puts all but its leak on its wire."""
    import torch

    plan = plan_of(CASES[0], "layers")
    dense = to_dense(plan)
    _, cache = circuit_to_lens(dense).run_with_cache(torch.from_numpy(dense.words(words(7)[:4])))
    for gate, (layer, slot) in enumerate(zip(plan.layer_of, plan.slots, strict=True)):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"][:, :, 7 + gate]
        for head, wire in enumerate(slot.positions):
            assert (pattern[:, head, wire] >= 1 - prove_circuit(plan).leak - 1e-12).all()  # a softmax rounds
