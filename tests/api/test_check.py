"""A check repeats every claim of a file from its own numbers, and names what is not so."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.compiler.export.model_file import dense_matrices, load_plan, save_model, tables
from keyhole.errors import CheckpointError
from keyhole.files.model import read_model, write_model

CASES = {
    "pair": ("x1 & ~x4 & x6", {}),
    "table": ("table(01100010; x0, x2, x5)", {"construction": "pair", "output": "bits"}),
    "additive": ("maj(x0, x2, x5)", {"construction": "additive"}),
    "binary": ("table(01100010; x0, x2, x5)", {"construction": "additive", "leak": 0.3}),
    "codes": ("maj(x0, x2, x5)", {"construction": "codes", "seed": 5}),
    "heads": ("x0 ^ x5", {"construction": "heads", "leak": 0.7}),
    "no others": ("x0 ^ x1", {"construction": "additive"}),
}


def written(case, path):
    """A compiled model and its file."""
    formula, options = CASES[case]
    compiled = keyhole.compile(formula, 2 if case == "no others" else 9, **options)
    return compiled, save_model(compiled, path)


def failures(path):
    """What a check says against a file."""
    checked = keyhole.check(path)
    assert checked.holds == (not checked.record()["failures"])
    return "; ".join(checked.record()["failures"])


@pytest.mark.parametrize("case", CASES)
def test_what_was_written_holds(case, tmp_path):
    """Every construction's file checks; its plan is the compiled one, number by number."""
    compiled, path = written(case, tmp_path / "a.safetensors")
    assert failures(path) == ""
    names = [look.name for look in keyhole.check(path).inspections]
    claims = ["construction", "proof", "norms", "formats", "description", "dense matrices"]
    assert names == ["whole file", "digests", "tables", *claims]
    arrays, dense = len(read_model(path).tensors), len(dense_matrices(compiled.plan))
    said = keyhole.check(path).inspections[0].says
    assert said == f"complete, with {arrays} arrays"
    assert sum(name.startswith("dense.") for name in read_model(path).tensors) == dense
    again = load_plan(read_model(path))
    for name, array in tables(compiled.plan).items():
        assert np.array_equal(array, tables(again)[name])
    assert again.function == compiled.plan.function


def test_too_large_for_dense(tmp_path):
    """Where dense matrices would not fit, tables alone are written and checked: a million positions in a few kB."""
    path = save_model(keyhole.compile("x3 & x17 & x40", 10**6), tmp_path / "a.safetensors")
    assert path.stat().st_size < 20_000
    assert failures(path) == ""
    assert not any(name.startswith("dense") for name in read_model(path).tensors)


def rewritten(path, tensors=None, **description):
    """The file with some claims or arrays replaced, and all digests made anew: an edit that covers its tracks."""
    stored = read_model(path)
    kept = {name: value for name, value in stored.description.items() if name not in {"digest", "digests"}}
    return write_model(path, {**stored.tensors, **(tensors or {})}, kept | description)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "part", ["tables.head0.focus", "tables.head0.values", "tables.head0.rest_values", "tables.readout"]
)
def test_edited_tables_fail(case, part, tmp_path):
    """One number moved by 1%, digests made anew: the entry is named, and so is an inequality that fails."""
    _, path = written(case, tmp_path / "a.safetensors")
    array = np.array(read_model(path).tensors[part])
    at = np.unravel_index(np.argmax(np.abs(array)), array.shape)
    array[at] = 1.01 * array[at] + 0.001
    said = failures(rewritten(path, {part: array}))
    assert f"construction: {part}[{', '.join(str(int(i)) for i in at)}]" in said
    assert "proof: " in said or "norms: " in said


def test_edited_claims_fail(tmp_path):
    """A margin, an error, a norm, a format, a function or a dense entry that is not so is named with its inequality."""
    compiled, path = written("pair", tmp_path / "a.safetensors")
    record = compiled.record()
    lies = {
        "margin is stated 1.5": {"margin": 1.5},
        "leak is stated 0.1": {"leak": 0.1},
        "error is stated -1.0": {"error": -1.0},
        "norms.readout is stated 1.0": {"norms": {**record["norms"], "readout": 1.0}},
        'formats.float16 is stated "refuted"': {"formats": {**record["formats"], "float16": "refuted"}},
        "margin > 0 fails": {"function": "x1 & x4 & x6"},
        "ends at position 4": {"context": 5},
        'inputs_covered is stated "2^8"': {"inputs_covered": "2^8"},
        "norms is stated null": {"norms": None},
        "lacks what a plan needs": {"parameters": 3},
        "A9": {"construction": "A9"},
        "bracket": {"function": "x1 & ("},
    }
    original = path.read_bytes()
    for reason, lie in lies.items():
        path.write_bytes(original)
        assert reason in failures(rewritten(path, **lie)), reason
    path.write_bytes(original)
    dense = read_model(path).tensors["dense.head0.value"].copy()
    dense[3, 1] += 1e-6
    assert "dense.head0.value[3, 1] is" in failures(rewritten(path, {"dense.head0.value": dense}))


def test_numbers_that_are_none(tmp_path):
    """NaN and wrong shapes are named before anything is computed."""
    _, path = written("pair", tmp_path / "a.safetensors")
    original = path.read_bytes()
    readout = read_model(path).tensors["tables.readout"]
    assert "readout holds NaN" in failures(rewritten(path, {"tables.readout": readout * np.nan}))
    path.write_bytes(original)
    assert "shape (1,), and there are 2" in failures(rewritten(path, {"tables.readout": readout[:1]}))
    path.write_bytes(original)
    assert "shape (7,); with 3" in failures(rewritten(path, {"tables.head0.rest_logits": np.zeros(7)}))


@given(place=st.floats(0, 1), flip=st.integers(1, 255))
def test_no_flipped_byte_escapes(place, flip, tmp_path_factory):
    """Any byte changed anywhere: the check fails with a reason, or the file is no model; never a pass nor a crash."""
    path = tmp_path_factory.mktemp("flip") / "a.safetensors"
    path.write_bytes(FILE)
    content = bytearray(FILE)
    content[int(place * (len(content) - 1))] ^= flip
    path.write_bytes(bytes(content))
    try:
        assert not keyhole.check(path).holds
    except CheckpointError:
        assert place * len(content) < len(content) / 2  # only a header that no longer says what it is


def made():
    """The bytes of one small model file."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        return save_model(keyhole.compile("x1 & ~x4", 6), Path(name) / "a.safetensors").read_bytes()


FILE = made()


def test_the_last_bit_of_a_number(tmp_path):
    """An entry changed in its last bit, too little for any inequality, is seen by its digest."""
    _, path = written("pair", tmp_path / "a.safetensors")
    content = path.read_bytes()
    readout = read_model(path).tensors["tables.readout"]
    moved = content.replace(readout.tobytes(), np.nextafter(readout, np.inf).tobytes())
    assert moved != content
    path.write_bytes(moved)
    assert "is not as written" in failures(path)


def test_an_array_left_out(tmp_path):
    """A missing dense matrix or table is named."""
    _, path = written("pair", tmp_path / "a.safetensors")
    stored = read_model(path)
    for name in ("dense.cls", "tables.head0.focus"):
        kept = {key: array for key, array in stored.tensors.items() if key != name}
        write_model(
            path, kept, {key: value for key, value in stored.description.items() if not key.startswith("digest")}
        )
        assert name in failures(path)


@pytest.mark.slow
def test_dense_matrices_compute_the_function(tmp_path):
    """From the dense arrays alone, with plain numpy, every input comes out right."""
    compiled, path = written("codes", tmp_path / "a.safetensors")
    arrays = read_model(path).tensors
    bits = ((np.arange(512)[:, None] >> np.arange(9)) & 1).astype(int)
    tokens = arrays["dense.embedding"][np.arange(9), bits]  # (n, T, d)
    rows = np.concatenate([tokens, np.broadcast_to(arrays["dense.cls"], (512, 1, tokens.shape[2]))], axis=1)
    mass = np.exp(rows @ arrays["dense.head0.key"])
    mixed = np.einsum("nt,ntd->nd", mass / mass.sum(axis=1, keepdims=True), rows) @ arrays["dense.head0.value"]
    output = np.maximum(mixed, 0.0) @ arrays["dense.readout"]
    assert np.array_equal(output > 0, compiled.plan.function(bits))
    assert np.abs(np.abs(output) - 1).max() < 1e-9
    assert dense_matrices(compiled.plan).keys() == {name for name in arrays if name.startswith("dense")}


def test_shown(tmp_path):
    """JSON holds every inspection, notebooks get a table."""
    _, path = written("pair", tmp_path / "a.safetensors")
    checked = keyhole.check(path)
    assert json.dumps(checked.record())
    assert "passed" in checked._repr_html_()


EDITS = {
    "positions": [0, 5],
    "logit_scale": 99.0,
    "width": 77,
    "units": ["foo", "bar"],
    "output": "banana",
    "theorem": {},
    "method": "prayer",
    "summation": "any order",
    "context": 7,
    "dimension": 14,
    "heads": 0,
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_description_fails_though_its_digests_were_made_anew(name, tmp_path):
    """Whatever the description says is compared with what the tables give; nothing is taken on trust."""
    path = save_model(keyhole.compile("x1 & x3", 6), tmp_path / "a.safetensors")
    stored = read_model(path)
    kept = {
        key: value for key, value in stored.description.items() if key not in ("digest", "digests", "keyhole", "schema")
    }
    write_model(path, stored.tensors, {**kept, name: EDITS[name]})
    assert failures(path) != ""


@pytest.mark.parametrize("name", ["tables.readout", "tables.head0.values", "dense.head0.value"])
def test_zeroed_arrays_fail_with_a_reason(name, tmp_path):
    """Nothing left to read is no proof, and a dense matrix must follow from the tables to the last bit."""
    path = save_model(keyhole.compile("x1 & x3", 6), tmp_path / "a.safetensors")
    stored = read_model(path)
    kept = {
        key: value for key, value in stored.description.items() if key not in ("digest", "digests", "keyhole", "schema")
    }
    changed = np.nextafter(stored.tensors[name], 1) if name.startswith("dense") else 0 * stored.tensors[name]
    write_model(path, {**stored.tensors, name: changed}, kept)
    assert failures(path) != ""
