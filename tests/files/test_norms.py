"""A profile of norms as JSON: what is written is read, and what is wrong is said in one sentence."""

import json

import pytest

from keyhole.bounds import pair_construction
from keyhole.errors import DataError
from keyhole.files.norms import dumps, norms_template, read_norms


def record(**changes):
    """The template with top-level entries changed; None removes one."""
    found = {**json.loads(norms_template()), **changes}
    return {k: v for k, v in found.items() if v is not None}


def written(tmp_path, found):
    """A file holding this."""
    path = tmp_path / "norms.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found), "utf8")
    return path


@pytest.mark.parametrize("target", ["and", "parity"])
def test_what_is_written_is_read(tmp_path, target):
    """A profile survives the file."""
    profile = pair_construction(target, 50, 3)
    path = written(tmp_path, dumps(profile))
    assert read_norms(path) == profile


def test_the_template_is_a_file_of_norms(tmp_path):
    """The template reads as it stands; whole numbers pass for norms."""
    assert read_norms(written(tmp_path, norms_template())).tokens == 101
    assert read_norms(written(tmp_path, record(readout=3))).readout == 3.0


def head(**changes):
    """Blocks with one entry of the score matrix changed; None removes it."""
    blocks = json.loads(norms_template())["blocks"]
    score = blocks[0]["heads"][0]["score"]
    score.update(changes)
    blocks[0]["heads"][0]["score"] = {k: v for k, v in score.items() if v is not None}
    return blocks


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ("not json", "is not a JSON file of norms"),
        ([1, 2], "is not a file of norms"),
        (record(schema="bound/1"), "is not a file of norms"),
        (record(readout=None), "lacks readout; `keyhole.files.norms.norms_template"),
        (record(readout=None, token_radius=None), "lacks readout and token_radius"),
        (record(tokens=None), "lacks tokens"),
        (record(blocks=[]), "at least one entry under blocks"),
        (record(blocks=[{"heads": []}]), "at least one entry under heads"),
        (record(blocks=[{"heads": [3]}]), "must be a record of norms"),
        (record(blocks=[{"heads": [{"score": 3, "value": 3}]}]), "must be a record of norms"),
        (record(blocks=[{"heads": [{}]}]), "lacks score and value"),
        (record(blocks=head(frobenius=None)), "heads\\[0\\].score lacks frobenius"),
        (record(blocks=head(frobenius=2.0)), "no matrix has spectral = 3 above frobenius = 2"),
        (record(blocks=head(spectral=0.1)), "above √rank · spectral"),
        (record(blocks=head(rows=0)), "rows must be a whole number ≥ 1; got 0"),
        (record(readout=-1), "readout is a norm or a count, so it must be a number ≥ 0, .*; got -1"),
        (json.dumps(record()).replace('"readout": 3.0', '"readout": NaN'), "got nan"),
        (record(readout="3"), "got '3'"),
        (record(readout=True), "got True"),
        (record(tokens=10.5), "tokens must be a whole number"),
        (record(projected=1), "projected must be true or false"),
        (record(normaliser=1), "normaliser must be a word"),
        (record(radius=1), "has radius, which no bound reads"),
    ],
)
def test_each_fault_has_its_sentence(tmp_path, found, sentence):
    """Missing, negative, undefined, impossible, unknown: one clear sentence each."""
    with pytest.raises(DataError, match=sentence):
        read_norms(written(tmp_path, found))


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    """The path and the reason."""
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_norms(tmp_path / "nowhere.json")


@pytest.mark.parametrize("name", ["symbols", "activation_lipschitz", "readout_bias", "projected", "normaliser"])
def test_null_is_no_default(tmp_path, name):
    """Null under a name that has a default is not read as the default."""
    found = {**json.loads(norms_template()), name: None}
    with pytest.raises(DataError, match=f"{name} .*must be .*; got None"):
        read_norms(written(tmp_path, found))
    blocks = json.loads(norms_template())["blocks"]
    blocks[0]["layernorm"] = None
    with pytest.raises(DataError, match="layernorm is none, before or after"):
        read_norms(written(tmp_path, record(blocks=blocks)))
