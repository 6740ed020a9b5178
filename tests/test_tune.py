"""The rule by which presets were chosen."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from keyhole.apps.ledger import kept_runs
from keyhole.apps.ledger.training import certified_runs as settled
from keyhole.apps.ledger.training import conjunctions, parity, sparse_heads

SPEC = spec_from_file_location("tune", Path(__file__).parent.parent / "bench" / "tune.py")
tune = module_from_spec(SPEC)
SPEC.loader.exec_module(tune)
Score, candidates, kept, online = tune.Score, tune.candidates, tune.kept, tune.online


def test_one_preset_if_some_candidate_serves_both():
    """Within ten conjunctions of the best, with seven parities: only those are kept; else parity has its own."""
    small, large, other, *_ = candidates()
    for ands, parities, alone in [(30, 7, True), (29, 8, False), (40, 6, False)]:
        scores = [Score(small, 40, 0, 8000.0), Score(large, ands, parities, 700.0), Score(other, 5, 7, 900.0)]
        left, own = kept(scores)
        if alone:
            assert [one.settings for one in left] == [large]
            assert own is None
        else:
            assert small in [one.settings for one in left]
            assert own.settings == (large if parities == 8 else other)


def test_ties_of_parities_go_to_the_quicker():
    """Of equally many parities the fewer steps win."""
    slow, quick, *_ = candidates()
    _, own = kept([Score(slow, 40, 5, 900.0), Score(quick, 10, 5, 800.0)])
    assert own.settings == quick
    assert online(quick).batch == tune.PARITY_BATCH


def test_tuning_contexts_and_seeds_are_not_reported():
    """No claim is measured at a context of the tuning, and the seeds of claims at their usual seed are others."""
    tuned = {tune.CONJUNCTION_CONTEXT, tune.PARITY_CONTEXT, tune.PROOF_CONTEXT}
    contexts = {parity.CONTEXT, sparse_heads.CONTEXT}
    for scale in ("quick", "paper"):
        contexts |= {
            *conjunctions.LONG[scale],
            *conjunctions.SHORT[scale],
            *parity.SEEDS[scale],
            *settled.CONTEXTS[scale],
            *settled.REPORTED[scale],
        }
    assert not tuned & contexts
    assert 2 * kept_runs.FIRST_SEED < tune.FIRST_SEED


@pytest.mark.parametrize(
    ("learned", "dropped", "kept_it"),
    [
        (30, (19, 20), True),
        (24, (19, 20), True),  # ten below the best is still as good
        (23, (19, 20), False),
        (30, (9, 10), False),  # as large a share, not larger
        (30, (1, 2), False),
    ],
)
def test_dropout_must_learn_as_well_and_prove_more(monkeypatch, tmp_path, learned, dropped, kept_it):
    """The last step of the rule: within ten conjunctions of the best, and a larger share proved."""
    monkeypatch.setattr(tune, "conjunctions", lambda _: learned)
    monkeypatch.setattr(tune, "proved", lambda one, *_: dropped if one.dropout else (18, 20))
    found = tune.with_dropout(candidates()[0], 34, tmp_path)
    assert (found.dropout > 0) == kept_it
