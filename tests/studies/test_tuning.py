"""The rule by which presets were chosen."""

from keyhole.studies import trained
from keyhole.studies.tuning import FIRST_SEED, PARITY_BATCH, Score, candidates, kept, online


def test_one_preset_if_some_candidate_serves_both():
    """Within ten conjunctions of the best, with seven parities: only those are kept; else parity has its own."""
    small, large, other, *_ = candidates()
    for conjunctions, parities, alone in [(30, 7, True), (29, 8, False), (40, 6, False)]:
        scores = [Score(small, 40, 0, 8000.0), Score(large, conjunctions, parities, 700.0), Score(other, 5, 7, 900.0)]
        left, parity = kept(scores)
        if alone:
            assert [one.settings for one in left] == [large]
            assert parity is None
        else:
            assert small in [one.settings for one in left]
            assert parity.settings == (large if parities == 8 else other)


def test_ties_of_parities_go_to_the_quicker():
    """Of equally many parities the fewer steps win."""
    slow, quick, *_ = candidates()
    _, parity = kept([Score(slow, 40, 5, 900.0), Score(quick, 10, 5, 800.0)])
    assert parity.settings == quick
    assert online(quick).batch == PARITY_BATCH


def test_tuning_seeds_are_not_reported():
    """Seeds of the tuning lie beyond those of every study at a seed below fifty."""
    assert trained.FIRST_SEED * 50 + 10**5 < FIRST_SEED
