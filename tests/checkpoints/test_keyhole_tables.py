"""Tables on disk: every model that can be tabulated comes back as itself, and a changed file is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from keyhole.attention.evaluation import evaluate
from keyhole.attention.normalisers import Sparsemax
from keyhole.attention.tables import tabulate, thinned
from keyhole.checkpoints.keyhole_tables import is_tabulated, load_tabulated, save_tabulated
from keyhole.errors import AssumptionError, CheckpointError, KeyholeError
from keyhole.files.model import read_model, write_model

from helpers.planted import junta_of, planted
from helpers.random_models import Plan, plans, random_model, random_sequences

FULL = Plan(heads=1, final_norm=True)  # with every part that has a bias


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


def written_again(path, change):
    """A file with arrays and description changed, and every digest made to fit; what is read from it."""
    stored = read_model(path)
    arrays, described = change(
        dict(stored.tensors),
        {name: value for name, value in stored.description.items() if name not in {"digest", "digests"}},
    )
    other = path.with_name("b.safetensors")
    write_model(other, arrays, described)
    return read_model(other)


def test_an_array_that_is_lacking_is_not_zero(tmp_path):
    """Each array dropped in turn, the digests made to fit: refused by its name, biases too."""
    for index, model in enumerate((planted(junta_of("x1 & x3"), 12), tabulate(random_model(FULL)))):
        path = save_tabulated(model, tmp_path / f"{index}.safetensors")
        names = sorted(read_model(path).tensors)
        assert sum(name.endswith("bias") for name in names) >= 3
        for name in names:
            lacking = written_again(
                path, lambda arrays, told, name=name: ({key: arrays[key] for key in arrays if key != name}, told)
            )
            with pytest.raises(
                CheckpointError, match=rf"lacks what a model needs: .*{re.escape(name)}|shape of {re.escape(name)}"
            ):
                load_tabulated(lacking)


def test_what_is_not_known_is_refused(tmp_path):
    """An array or an entry that means nothing; NaN; entries of the wrong kind."""
    path = save_tabulated(tabulate(random_model(FULL)), tmp_path / "a.safetensors")
    more = np.zeros(3)
    cases = [
        (lambda a, d: ({**a, "extra": more}, d), "The file has extra"),
        (lambda a, d: ({**a, "extra": more}, {**d, "arrays": {**d["arrays"], "extra": [3]}}), "shape of extra"),
        (lambda a, d: (a, {**d, "why": "secure"}), "description's why"),
        (lambda a, d: (a, {**d, "heads": [{**d["heads"][0], "mask": 1}]}), "description's heads"),
        (lambda a, d: (a, {**d, "heads": []}), "there are no heads"),
        (lambda a, d: (a, {**d, "heads": [{"activation": "identity"}]}), "'temperature'"),
        (lambda a, d: (a, {**d, "feedforward": {**d["feedforward"], "gate": True}}), "description's feedforward"),
        (lambda a, d: (a, {**d, "feedforward": True}), "lacks what a model needs"),
        (lambda a, d: (a, {**d, "output": 1}), "output is 1, .* is false"),
        (lambda a, d: (a, {**d, "attention_norm": True}), "attention_norm is true|eps=True"),
        (lambda a, d: (a, {**d, "attention_norm": float("inf")}), "description's attention_norm"),
        (lambda a, d: (a, {**d, "symbols": 7}), "description's symbols is 7"),
        (lambda a, d: (a, {**d, "arrays": []}), "description's arrays"),
        (lambda a, d: ({**a, "readout.bias": np.array(np.nan)}, d), "readout.bias holds NaN or infinity"),
        (lambda a, d: ({**a, "stream": a["stream"][None]}, d), "shape of stream"),
    ]
    for change, fact in cases:
        with pytest.raises(KeyholeError, match=fact):
            load_tabulated(written_again(path, change))


def test_files_without_a_list_of_arrays_are_read(tmp_path):
    """The digests are then the list, so a file as it was written is read, and what cannot belong to it is refused."""
    model = tabulate(random_model(FULL))
    path = save_tabulated(model, tmp_path / "a.safetensors")

    def older(arrays, told):
        return arrays, {name: value for name, value in told.items() if name != "arrays"}

    rows = random_sequences(FULL, 9)
    assert np.array_equal(evaluate(load_tabulated(written_again(path, older)), rows), evaluate(thinned(model), rows))
    stored = written_again(path, older)
    dropped = {name: array for name, array in stored.tensors.items() if name != "inner.bias"}
    with pytest.raises(CheckpointError, match="is not as it was written"):
        load_tabulated(replace(stored, tensors=dropped))
    with pytest.raises(CheckpointError, match="The file has extra"):
        load_tabulated(written_again(path, lambda a, d: older({**a, "extra": np.zeros(3)}, d)))
    with pytest.raises(CheckpointError, match=r"inner\.weight"):
        load_tabulated(written_again(path, lambda a, d: older({n: a[n] for n in a if n != "inner.weight"}, d)))


def test_what_is_not_stored(tmp_path):
    """Another normaliser than softmax; an activation without a name."""
    model = planted(junta_of("x1"), 3)
    head = model.heads[0]
    with pytest.raises(AssumptionError, match="otherwise than by softmax"):
        save_tabulated(replace(model, heads=(replace(head, normaliser=Sparsemax()),)), tmp_path / "a.safetensors")
    with pytest.raises(AssumptionError, match="is not stored"):
        save_tabulated(replace(model, heads=(replace(head, activation=np.tanh),)), tmp_path / "a.safetensors")
