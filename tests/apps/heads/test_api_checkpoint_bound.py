"""A checkpoint's bound is its stand-in's, says so, and says by how much it is vacuous."""

import json
import re
from dataclasses import replace
from math import log, sqrt

import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.checkpoint_bound import checkpoint_bound
from keyhole.apps.heads.fixed_query import fixed_query_layer, fixed_query_profile
from keyhole.apps.heads.fixed_query_bound import fixed_query_bound
from keyhole.apps.heads.stand_in import STAND_IN
from keyhole.bounds import PATH, guarantee
from keyhole.checkpoints import load_checkpoint
from keyhole.cli.app import app
from keyhole.errors import AssumptionError

from helpers import tiny_checkpoints as tiny
from helpers.tiny_checkpoints import heads_of


@pytest.fixture
def folder(tmp_path):
    """A small BERT."""
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_it_is_the_bound_of_a_stand_in(folder):
    """Theorem D answers, theorems of one layer are refused with their reasons, and the words say whose bound it is."""
    answer = checkpoint_bound(folder, 1e6, 50)
    assert [stated.route for stated in answer.guarantees] == ["deep"]
    assert answer.vacuous
    assert any("one attention layer" in reason for reason in (each.reason for each in answer.refused))
    text = " ".join(str(answer).split())
    assert STAND_IN in text
    assert "vacuous by 10^" in text
    assert answer.guarantees[0].profile.tokens == 51


@pytest.mark.slow
def test_on_the_command_line(folder):
    """`keyhole checkpoint bound DIR` prints it, as JSON too, and a model without norms is refused in a sentence."""
    words = ["checkpoint", "bound", str(folder), "--samples", "1e6", "--context", "50"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0
    record = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert record["stand_in"]["sentence"].startswith("vacuous by 10^")
    assert record["schema"] == "bound/1"
    assert record["source"] == str(folder)
    save_file(heads_of(), folder / "model.safetensors")
    (folder / "config.json").unlink()
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "Nothing bounds the rows" in refused.stderr


def test_one_layer_that_reads_images(tmp_path):
    """It is a bound for the network itself, by Theorem P and by the count of its numbers."""
    arrays, config = tiny.vit()
    save_file(arrays, tmp_path / "vit.safetensors")
    (tmp_path / "vit.json").write_text(json.dumps({**config, "image_mean": 0.5, "image_std": [0.25]}))
    words = [
        "checkpoint",
        "bound",
        str(tmp_path / "vit.safetensors"),
        "--config",
        str(tmp_path / "vit.json"),
        "--samples",
        "60000",
    ]
    told = CliRunner().invoke(app, words).stdout
    assert len(told.splitlines()) < 15
    assert "Not a bound" not in told
    record = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    count = sum(array.size for array in arrays.values())
    assert (record["numbers"], record["bits"]) == (count, 32)
    wanted = sqrt((32 * count * log(2) + log(100)) / 120_000)
    assert record["finite_classes"][0]["value"] == pytest.approx(wanted, rel=1e-12)
    assert [each["route"] for each in record["guarantees"]] == ["path"]
    assert record["guarantees"][0]["measured"] is True
    bad = CliRunner().invoke(app, [*words, "--context", "9"])
    assert bad.exit_code == 2
    assert "has 4 patches" in bad.stderr


def test_redrawn_sets_are_paid_for_by_the_count_of_descriptions():
    """Sets kept with probability .001: Occam's number is that of δ/1000, and the promise 1 − δ, never rounded to 1."""
    arrays, config = tiny.vit()
    checkpoint = load_checkpoint(arrays, config={**config, "image_mean": 0.5, "image_std": 0.25})
    layer = fixed_query_layer(checkpoint)
    kept, small = (
        fixed_query_bound(checkpoint, layer, 1000, **asked) for asked in ({"accepted": 0.001}, {"delta": 1e-5})
    )
    assert kept.finite_classes[0].value == pytest.approx(small.finite_classes[0].value, rel=1e-14)
    assert kept.shrink == small.shrink
    assert "probability ≥ 0.99," in kept.finite_classes[0].name
    sure = fixed_query_bound(checkpoint, layer, 1000, delta=1e-9)
    assert "probability ≥ 1 − 1e-09," in sure.finite_classes[0].name


def test_redrawn_sets_are_paid_for_beside_a_stand_in(folder):
    """Sets kept with probability .001: what is wanting is that of δ/1000, and δ is what is promised."""
    plain, kept, small = (
        checkpoint_bound(folder, 1e6, 50, **asked).stand_in for asked in ({}, {"accepted": 0.001}, {"delta": 1e-5})
    )
    assert (kept.delta, kept.delta_spent) == (plain.delta, plain.delta_spent / 1000) == (0.01, pytest.approx(1e-5))
    assert kept.value == pytest.approx(small.value, rel=1e-14)
    assert kept.value > plain.value
    assert kept.orders == pytest.approx(small.orders, abs=1e-9)
    for wrong in (0.0, 1.5, -0.1):
        with pytest.raises(AssumptionError, match="kept with a probability above 0"):
            checkpoint_bound(folder, 1e6, 50, accepted=wrong)


def test_pixels_that_nothing_bounds(tmp_path):
    """Without the scaling of pixels the bound is refused."""
    arrays, config = tiny.vit()
    save_file(arrays, tmp_path / "vit.safetensors")
    with pytest.raises(AssumptionError, match="image_mean and image_std"):
        checkpoint_bound(tmp_path / "vit.safetensors", 1000, config=config)


def test_what_would_have_to_shrink():
    """With the path norm brought down to the number that is told, Theorem P says something; a little above, nothing."""
    arrays, config = tiny.vit()
    checkpoint = load_checkpoint(arrays, config={**config, "image_mean": 0.5, "image_std": 0.25})
    answer = fixed_query_bound(checkpoint, fixed_query_layer(checkpoint), 1000)
    told = float(re.search(r"at most ([\d.e+-]+), 1/", answer.shrink)[1])
    profile = fixed_query_profile(fixed_query_layer(checkpoint), -2.0, 2.0)
    assert not guarantee(PATH, replace(profile, path=told), 1000).vacuous
    assert guarantee(PATH, replace(profile, path=1.02 * told), 1000).vacuous


def test_a_context_without_positions_is_refused(folder):
    """A context has at least one position."""
    with pytest.raises(AssumptionError, match="at least one position"):
        checkpoint_bound(folder, 1e6, 0)
