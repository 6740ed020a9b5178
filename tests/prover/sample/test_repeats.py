"""Rows that repeat: bounds on their chance hold against counting, and copies buy no smaller promise."""

from dataclasses import replace
from itertools import product
from math import comb, log, prod

import numpy as np
import pytest

from keyhole.api.prove import TrainingSet, prove
from keyhole.attention.evaluation import Evaluator
from keyhole.boolean.fitting.minimal import juntas_that_fit
from keyhole.boolean.junta import SymbolLaw, biased_bits, uniform_law
from keyhole.errors import DataError
from keyhole.prover.certificate import Terms, certificate_of
from keyhole.prover.sample import repeats
from keyhole.prover.sample.repeats import repeats_of, shared_rows
from keyhole.prover.sample.sample_bound import held_out_bound, identify, occam_bound

from helpers.planted import junta_of, leaky, planted
from helpers.proofs import record

AND = junta_of("x3 & x17 & x20")
UNIFORM = Terms(uniform_law(2), fresh=20_000, assume_junta=3)


def labelled(junta, tokens, m, seed, law=None):
    """Inputs of the law, labelled by the junta."""
    inputs = (law or uniform_law(2)).draw(m, tokens, np.random.default_rng(seed))
    return inputs, junta(inputs)


def written(sample, times, seed=None):
    """The sample several times over, one after the other or mixed."""
    inputs, labels = np.tile(sample[0], (times, 1)), np.tile(sample[1], times)
    order = np.arange(len(labels)) if seed is None else np.random.default_rng(seed).permutation(len(labels))
    return inputs[order], labels[order]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("times", [2, 4, 20])
def test_copies_promise_nothing_more(times, seed):
    """300 rows written again and again, in order or mixed: the promise of 300 rows, and a warning before all else."""
    sample = labelled(AND, 100, 300, 0)
    once = certificate_of(planted(AND, 100), sample, terms=UNIFORM)
    many = certificate_of(planted(AND, 100), written(sample, times, seed), terms=UNIFORM)
    assert many.status == "PROVED"
    assert many.error_bound == once.error_bound
    assert many.judgement == replace(once.judgement, rarer_label=many.judgement.rarer_label)
    assert many.network_free.judgement.error_bound == once.network_free.judgement.error_bound
    assert many.held_out == once.held_out
    assert (record(once)["warnings"], record(once)["rows"], record(once)["rows_counted"]) == ([], 300, 300)
    told = record(many)
    assert (told["rows"], told["rows_counted"], told["samples"]) == (300 * times, 300, 300)
    assert len(told["warnings"]) == 1
    assert (told["errors_on_sample"], told["model_errors_on_sample"], told["rows_distinct"]) == (0, 0, 300)
    assert many.identification.by == "enumeration"  # which no copy touches


def test_one_copied_row_is_enough():
    """A single repeat of 100 fair bits among 300 rows has probability C(300, 2)/2^100: that row counts once."""
    inputs, labels = labelled(AND, 100, 300, 0)
    inputs[7], labels[7] = inputs[250], labels[250]
    found = certificate_of(planted(AND, 100), (inputs, labels), terms=UNIFORM)
    assert (found.judgement.samples, found.repeats.refuted) == (299, True)
    assert found.repeats.chance == pytest.approx(
        4 * 300 * 299 / 2 * 2.0**-100, rel=1e-9, abs=0
    )  # four tests share the level


def test_an_oversampled_class_counts_once():
    """True rows written ten times each: as many samples as there are distinct rows, and the law is doubted for that."""
    inputs, labels = labelled(AND, 60, 200, 0)
    order = np.concatenate([np.arange(200), np.repeat(np.flatnonzero(labels), 9)])
    found = certificate_of(planted(AND, 60), (inputs[order], labels[order]), terms=UNIFORM)
    assert found.judgement.samples == 200
    assert "only 200 of" in found.doubt


@pytest.mark.parametrize(("tokens", "m"), [(6, 300), (8, 200), (12, 300)])
def test_expected_repeats_change_nothing(tokens, m):
    """Short contexts repeat rows by chance: every row counts, without a warning."""
    junta = junta_of("x1 & x4")
    for seed in range(5):
        sample = labelled(junta, tokens, m, seed)
        repeats = repeats_of(sample[0], uniform_law(2))
        assert repeats.distinct < m
        assert not repeats.refuted
        found = certificate_of(planted(junta, tokens), sample, terms=UNIFORM)
        assert (found.judgement.samples, record(found)["warnings"]) == (m, [])


@pytest.mark.parametrize("tokens", [3, 6, 8, 12])
def test_copies_of_short_rows(tokens):
    """Where rows repeat by chance, the same rows four times over in one order do not: they count once at most."""
    junta = junta_of("x1 & x2")
    sample = labelled(junta, tokens, 200, 0)
    once = certificate_of(planted(junta, tokens), sample, terms=UNIFORM)
    many = certificate_of(planted(junta, tokens), written(sample, 4), terms=UNIFORM)
    assert many.repeats.refuted
    assert many.judgement.samples <= 200
    assert many.error_bound >= once.error_bound


def test_errors_are_not_counted_away():
    """One row in nine of ten places, and the function wrong there: the worse count, of all rows, is taken."""
    inputs, labels = labelled(AND, 60, 40, 0)
    inputs = np.concatenate([np.repeat(inputs[:1], 360, axis=0), inputs])
    labels = np.concatenate([np.repeat(~labels[:1], 360), labels])
    labels[360] = labels[0]
    repeats = repeats_of(inputs, uniform_law(2))
    assert (repeats.refuted, repeats.distinct) == (True, 40)
    plain = occam_bound(AND, (inputs, labels), 0.01)
    judged = occam_bound(AND, (inputs, labels), 0.01, repeats)
    assert (judged.samples, judged.errors) == (400, 361)
    assert judged.error_bound == plain.error_bound > 0.9
    found = certificate_of(planted(AND, 60), (inputs, labels), terms=UNIFORM)
    assert found.error_bound > 0.9
    assert found.held_out is None  # 361 errors are more than a half of 200 can show
    assert held_out_bound(Evaluator(planted(AND, 60)), (inputs, labels), 0.01, repeats).inputs == 400


def test_conflicting_labels_are_errors_still():
    """A row with both labels: no function fits, whichever answer is wrong once, and nothing is identified."""
    inputs, labels = labelled(AND, 60, 200, 0)
    inputs, labels = np.concatenate([inputs, inputs[:3]]), np.concatenate([labels, ~labels[:3]])
    found = certificate_of(planted(AND, 60), (inputs, labels), terms=UNIFORM)
    assert (found.judgement.samples, found.judgement.errors, found.model_errors) == (200, 3, 3)
    assert not found.identification.identified
    assert not found.network_free.search.fitting


@pytest.mark.slow
def test_no_promise_for_what_rests_on_the_law():
    """A model that is not proved has a rate under the law, which copies put in doubt; written once it has a promise."""
    junta = junta_of("x1 & x4")
    sample = labelled(junta, 40, 200, 1)
    assert certificate_of(leaky(junta, 40), sample, terms=UNIFORM).error_bound is not None
    found = certificate_of(leaky(junta, 40), written(sample, 3), terms=UNIFORM)
    assert found.error_bound is None
    assert "200 of 600" in found.doubt


def test_copies_identify_nothing_by_size():
    """84 samples are too few at m_id = 85, and written twice they stay so, also where no certificate is made."""
    target = junta_of("x3 & x17 & x40")
    sample = labelled(target, 100, 84, 5)
    never = replace(juntas_that_fit(sample, 2, 3), only=None, finished=False)
    law = uniform_law(2)
    assert identify(target, sample, 3, law, 0.01, never).needed == 85
    told = identify(target, written(sample, 2), 3, law, 0.01, never)
    assert not told.identified
    assert "84 of 168" in told.why


def test_the_same_rows_set_aside_are_refused():
    """Training inputs as inputs set aside: refused, all of them or a few; others are not, and copies count once."""
    model, sample, aside = planted(AND, 60), labelled(AND, 60, 200, 0), labelled(AND, 60, 80, 1)
    few = tuple(np.concatenate([fresh, old[:2]]) for fresh, old in zip(aside, sample, strict=True))
    for held, words in ((sample, "200 of the 200 inputs set aside"), (few, "2 of the 82 inputs set aside")):
        with pytest.raises(DataError, match=f"{words} are training inputs too"):
            certificate_of(model, sample, held_out=held, terms=UNIFORM)
        with pytest.raises(DataError, match="Give labelled inputs that the model never saw"):
            prove(model, TrainingSet(sample, held_out=held))
    once = certificate_of(model, sample, held_out=aside, terms=UNIFORM)
    many = certificate_of(model, sample, held_out=written(aside, 5), terms=UNIFORM)
    assert many.held_out == once.held_out
    assert "80 of 400" in record(many)["warnings"][0]
    repeats = repeats_of(written(aside, 5)[0], uniform_law(2))
    assert held_out_bound(Evaluator(model), written(aside, 5), 0.01, repeats) == once.held_out


@pytest.mark.parametrize("tokens", [3, 6, 8])
def test_short_rows_set_aside(tokens):
    """Short rows are shared by chance; the same sample in the same order is not."""
    junta = junta_of("x1 & x2")
    sample, aside = labelled(junta, tokens, 200, 0), labelled(junta, tokens, 100, 1)
    model = planted(junta, tokens)
    assert certificate_of(model, sample, held_out=aside, terms=UNIFORM).held_out.kind == "measured"
    with pytest.raises(DataError, match="are training inputs too"):
        certificate_of(model, sample, held_out=sample, terms=UNIFORM)


@pytest.mark.parametrize("law", [uniform_law(2), biased_bits(0.8), SymbolLaw((0.2, 0.5, 0.3))])
def test_chances_are_upper_bounds(law):
    """Two or three rows of one or two symbols, every outcome counted: no bound is below the probability it bounds."""
    for m, tokens in product((2, 3), (1, 2)):
        rows = list(product(range(law.symbols), repeat=tokens))
        weights = {row: prod(law.chances[symbol] for symbol in row) for row in rows}
        outcomes = list(product(rows, repeat=m))
        likely = np.array([prod(weights[row] for row in drawn) for drawn in outcomes])
        repeats = [repeats_of(np.array(drawn), law) for drawn in outcomes]
        chances = np.array([found.chance for found in repeats])
        shares = np.array([shared_rows(np.array(drawn[:1]), np.array(drawn[1:]), law)[1] for drawn in outcomes])
        for bounds in (chances, shares):
            for bound in set(bounds.tolist()):
                assert likely[bounds <= bound].sum() <= bound + 1e-12


@pytest.mark.parametrize("tokens", [5, 8, 11])
def test_repeats_against_the_occupancy_law(tokens):
    """30 rows of 2^T, k of them repeated once: a quarter of the bound is at least P(k repeats or more), summed exactly.

    Where many repeat, the bound is small enough to be of use.
    """
    m, rows = 30, 2**tokens
    distinct = np.zeros(m + 1)  # the law of the number of distinct rows, row by row
    distinct[0] = 1.0
    for _ in range(m):
        seen = np.arange(m + 1) / rows
        distinct = distinct * seen + np.concatenate([[0.0], (distinct * (1 - seen))[:-1]])
    rng = np.random.default_rng(0)
    for repeated in range(1, m // 2 + 1):
        chosen = rng.permutation(rows)[: m - repeated]
        numbers = rng.permutation(np.concatenate([chosen, chosen[:repeated]]))
        found = repeats_of((numbers[:, None] >> np.arange(tokens)) & 1, uniform_law(2))
        assert (found.distinct, found.copies) == (m - repeated, 1)
        assert found.chance >= min(1.0, 4 * distinct[: m - repeated + 1].sum()) * (1 - 1e-9)
    assert tokens == 5 or found.chance < 1e-3


@pytest.mark.parametrize("tokens", [3, 19, 20, 21, 60])
def test_the_number_of_sets_of_rows(tokens):
    """The logarithm used for C(2^T, d) is never below the true one, and exceeds it by little where d² < 2^T."""
    for chosen in range(1, min(2**tokens, 40) + 1):
        exact = log(comb(2**tokens, chosen))
        used = repeats._log_choose(tokens * log(2), chosen)
        assert exact - 1e-6 <= used <= exact + chosen**2 / 2**tokens + 1e-6  # lgamma(2^20) rounds by about 2e-9


@pytest.mark.parametrize(("tokens", "law"), [(4, uniform_law(2)), (7, uniform_law(2)), (9, biased_bits(0.7))])
def test_draws_are_seldom_refuted(tokens, law):
    """At level .2 fewer than that share of 300 samples of 20 rows; three standard errors are .07."""
    draws = [law.draw(20, tokens, np.random.default_rng([2, seed])) for seed in range(300)]
    assert np.mean([repeats_of(rows, law, level=0.2).refuted for rows in draws]) <= 0.2 + 0.07
    assert np.mean([shared_rows(rows[:10], rows[10:], law)[1] < 0.2 for rows in draws]) <= 0.2 + 0.07


def test_kept_samples_pay():
    """Of samples kept with probability P the chance of repeats is at most 1/P times as large."""
    inputs = np.random.default_rng(0).integers(0, 2, (50, 60))
    inputs[3] = inputs[9]
    one, kept = (repeats_of(inputs, uniform_law(2), accepted) for accepted in (1.0, 0.125))
    assert kept.chance == pytest.approx(8 * one.chance)
    assert one.chance == pytest.approx(4 * 50 * 49 / 2 * 2.0**-60)


def test_the_first_of_each_row():
    """Rows are numbered by first appearance, over any alphabet."""
    rows = np.array([[2, 0], [0, 1], [2, 0], [63, 5], [0, 1]])
    repeats = repeats_of(rows, uniform_law(64))
    assert (repeats.owners.tolist(), repeats.first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
    assert repeats.count(np.array([True, False, True, False, True])) == 2


def test_three_looks_at_shared_rows_share_the_level():
    """One row of 100 fair bits in both sets: Markov's m n c/k, three times over."""
    law = uniform_law(2)
    first, other = (law.draw(40, 100, np.random.default_rng(seed)) for seed in (0, 1))
    other[3] = first[17]
    assert shared_rows(first, other, law) == (1, pytest.approx(3 * 40 * 40 * 2.0**-100, rel=1e-9, abs=0))
