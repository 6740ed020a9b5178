"""Tables on disk: every model that can be tabulated comes back as itself, and a changed file is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from keyhole.attention.evaluation import evaluate
from keyhole.attention.normalisers import Sparsemax
from keyhole.attention.tables import tabulate, thinned
from keyhole.errors import AssumptionError, CheckpointError
from keyhole.files.model import read_model, write_model
from keyhole.pretrained.keyhole_tables import is_tabulated, load_tabulated, save_tabulated

from helpers.planted import junta_of, planted
from helpers.random_models import Plan, plans, random_model, random_sequences


@settings(max_examples=30)
@given(plan=plans)
def test_written_and_read(tmp_path_factory, plan):
    """Outputs are equal bit by bit, whatever the wiring."""
    path = tmp_path_factory.mktemp("tables") / "a.safetensors"
    model = tabulate(random_model(plan))
    save_tabulated(model, path, {"from": "a test"})
    stored = read_model(path)
    assert is_tabulated(stored)
    assert stored.description["notes"] == {"from": "a test"}
    rows = random_sequences(plan, 9)
    assert np.array_equal(evaluate(load_tabulated(stored), rows), evaluate(thinned(model), rows))


def test_shared_rows_are_stored_once(tmp_path):
    """A planted model of 1000 positions has two rows of its own and one for the rest."""
    model = planted(junta_of("x1 & x700"), 1000)
    save_tabulated(model, tmp_path / "a.safetensors")
    back = load_tabulated(read_model(tmp_path / "a.safetensors"))
    assert back.positions == (1, 700)
    assert back.heads[0].scores.shape == (3, 2)


def test_a_changed_file_is_refused(tmp_path):
    """One number moved; the end cut off; a description without its parts."""
    path = tmp_path / "a.safetensors"
    save_tabulated(tabulate(random_model(Plan())), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(CheckpointError, match="is damaged: the file is cut off"):
        load_tabulated(read_model(path))
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="is not as it was written"):
        load_tabulated(read_model(path))
    write_model(path, {"stream": np.zeros(1)}, {"kind": "tables/1"})
    with pytest.raises(CheckpointError, match="lacks what a model needs"):
        load_tabulated(read_model(path))


def test_what_is_not_stored(tmp_path):
    """Another normaliser than softmax; an activation without a name."""
    model = planted(junta_of("x1"), 3)
    head = model.heads[0]
    with pytest.raises(AssumptionError, match="otherwise than by softmax"):
        save_tabulated(replace(model, heads=(replace(head, normaliser=Sparsemax()),)), tmp_path / "a.safetensors")
    with pytest.raises(AssumptionError, match="is not stored"):
        save_tabulated(replace(model, heads=(replace(head, activation=np.tanh),)), tmp_path / "a.safetensors")
