"""Stored models that pass random tests: read back, and judged by their proofs."""

import pytest

from keyhole.apps.ledger.training import tested_models
from keyhole.apps.ledger.training.tested_models import ASKED, experiment, stored_models


def test_the_stored_models_are_what_is_said_of_them():
    """One layer and one head each, of the tasks asked about, with room for their longest word and two tokens more."""
    found = list(stored_models())
    assert {task for task, _ in found} == set(ASKED)
    for task, checkpoint in found:
        assert (checkpoint.sizes.layers, checkpoint.sizes.heads) == (1, 1)
        assert len(checkpoint.embedding.positions) == (103 if task == "long" else 33)


@pytest.mark.slow
def test_every_pair_is_counted_once(monkeypatch):
    """Pairs that pass are proved, wrong or undecided; the verdict is that of the longest length alone."""
    monkeypatch.setattr(tested_models, "SAMPLES", 200)
    monkeypatch.setattr(tested_models, "LENGTHS", {"quick": (3, 5)})
    monkeypatch.setattr(tested_models, "LONGER", {"quick": (75,)})
    monkeypatch.setattr(tested_models, "LONGEST", 5)
    outcome = experiment.measure("quick", 0)
    numbers = outcome.numbers
    assert numbers["passed"] == numbers["wrong"] + numbers["proved"] + numbers["undecided"] == 2 * numbers["models"]
    assert (numbers["longer_passed"], numbers["longer_wrong"]) == (1, 1)
    assert outcome.verdict == "fails here"
