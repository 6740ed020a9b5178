"""A suite holds certified models of every family and construction, and its key holds the answers."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

import keyhole
from keyhole.apps.tables.suites import CONSTRUCTIONS, FAMILIES, LEAKS, make_suite
from keyhole.attention.evaluation import evaluate
from keyhole.boolean.formula import parse
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.plan import remove_unread
from keyhole.compiler.constructions.registry import construction_of
from keyhole.errors import AssumptionError

SUITE = make_suite(28, 16)
MODELS = SUITE.models


def test_every_model_computes_its_function():
    """On random inputs each reads its function, and its proved margin covers what is seen."""
    bits = np.random.default_rng(0).integers(0, 2, (200, 16)).astype(bool)
    for member in MODELS:
        read = evaluate(to_tabulated(member.plan), bits.astype(np.int64))
        signed = read * np.where(member.plan.function(bits), 1, -1)
        assert signed.min() >= member.proof.margin - 1e-9  # rounding of the pass itself
        assert member.proof.margin > 0.99


def test_families_and_constructions_are_varied():
    """In 7 × 4 models every family meets every construction once."""
    met = Counter((member.family, construction_of(member.plan.construction).name) for member in MODELS)
    assert set(met) == set(product(FAMILIES, CONSTRUCTIONS))
    assert set(met.values()) == {1}
    assert {len(member.distractors) for member in MODELS} == {0, 1, 2, 3}


def test_distractors_are_as_the_key_says():
    """Each distracting head puts 1 − leak on its decoys, none of which is relevant."""
    for member in MODELS:
        kept = len(remove_unread(member.plan).heads)
        for head, distractor in zip(member.plan.heads[kept:], member.distractors, strict=True):
            mass = np.exp(np.append(member.plan.logits(head)[:, 0], 0.0))  # of either symbol
            on = mass[list(distractor.decoys)].sum() / mass.sum()
            assert on == pytest.approx(1 - distractor.leak, rel=1e-12)
            assert distractor.leak in LEAKS
            assert not set(distractor.decoys) & set(member.plan.function.positions)


def test_a_longer_suite_begins_with_a_shorter_one():
    """Model number i depends on the seed, the context and i alone; another seed gives others."""
    assert make_suite(5, 16).record()["models"] == SUITE.record()["models"][:5]
    assert [member.positions for member in make_suite(5, 16, 1).models] != [member.positions for member in MODELS[:5]]


def test_key_holds_the_answers(tmp_path):
    """The key names each file with its formula and positions; a name that ends in .json gets the key alone."""
    path = SUITE.save(tmp_path / "key.json")
    assert [file.name for file in tmp_path.iterdir()] == ["key.json"]
    key = json.loads(path.read_text("utf8"))
    assert (key["schema"], key["context"], path.name) == ("suite/1", 16, "key.json")
    for answer, member in zip(key["models"], MODELS, strict=True):
        assert parse(answer["formula"]) == member.plan.function
        assert tuple(answer["positions"]) == member.plan.function.positions
        assert set(answer) == {
            "file", "family", "formula", "positions", "construction", "output", "margin", "leak", "distractors",
        }  # fmt: skip


@pytest.mark.parametrize(("count", "context"), [(0, 16), (3, 7)])
def test_refuses_what_is_no_suite(count, context):
    """At least one model, and room for decoys."""
    with pytest.raises(AssumptionError, match="at least one model"):
        make_suite(count, context)


@pytest.mark.slow
def test_every_model_can_be_stored_and_checked(tmp_path):
    """Written with its certificate, each model passes the check that speaks from the file alone, distractors too."""
    heard = []
    assert SUITE.save(tmp_path, watch=heard.append) == tmp_path / "key.json"
    assert [step.done for step in heard] == list(range(1, len(MODELS) + 1))
    for member in MODELS:
        faults = [seen.says for seen in keyhole.check(tmp_path / member.file).inspections if not seen.holds]
        assert not faults, f"{member.plan.construction}: {faults}"
