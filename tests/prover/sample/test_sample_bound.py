"""What a sample says of a junta: the theory's figures, and no promise below the truth."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from keyhole.attention.evaluation import Evaluator
from keyhole.boolean.fitting.minimal import every_cell_seen, juntas_that_fit
from keyhole.boolean.junta import Junta, SymbolLaw, biased_bits, uniform_law, without_ignored
from keyhole.bounds.finite.binomial import held_out_ceiling
from keyhole.bounds.finite.identification import identification_size
from keyhole.prover.sample.sample_bound import half_held_out_bound, held_out_bound, identify, law_doubt, occam_bound

from helpers.planted import every_sequence, junta_of, planted, random_symbol_junta

AND = junta_of("x3 & x17 & x40")


def labelled(junta, tokens, m, seed, wrong=0):
    """Uniform inputs labelled by the junta, some labels turned round."""
    inputs = uniform_law(junta.symbols).draw(m, tokens, np.random.default_rng(seed))
    labels = junta(inputs)
    labels[:wrong] ^= True
    return inputs, labels


@pytest.mark.parametrize(("wrong", "bound"), [(0, 0.118), (2, 0.146), (5, 0.178)])
def test_theory_figures(wrong, bound):
    """A 3-junta at T = 100, m = 200, δ = .01."""
    judged = occam_bound(AND, labelled(AND, 100, 200, 0, wrong), 0.01)
    assert (judged.samples, judged.errors) == (200, wrong)
    assert round(judged.error_bound, 3) == bound


def test_larger_alphabets_pay_for_their_tables():
    """ln((s+1)(s+2)) + ln C(T, s) + A^s ln 2 + ln(1/δ) with A = 3, s = 2."""
    junta = random_symbol_junta((1, 5), 3)
    judged = occam_bound(junta, labelled(junta, 20, 300, 0), 0.01)
    nats = np.log(12) + np.log(190) + 9 * np.log(2) + np.log(100)
    assert judged.nats == pytest.approx(nats)
    assert judged.error_bound == pytest.approx(1 - np.exp(-nats / 300))


def test_the_rarer_label():
    """The better constant's error on the sample."""
    inputs, labels = labelled(AND, 50, 400, 2)
    assert occam_bound(AND, (inputs, labels), 0.01).rarer_label == pytest.approx(labels.mean())
    assert occam_bound(AND, (inputs, ~labels), 0.01).rarer_label == pytest.approx(labels.mean())


def test_no_promise_below_the_truth():
    """T = 5, m = 12, δ = .2, the target a 2-junta: every one of the 2-juntas, however unlike, chosen after the draw.

    A draw fails if some junta's true error exceeds its bound. Over 1500 draws the share of failures stays below δ by
    more than three standard errors (.031); the union bound is not attained, but drops of the prior are seen.
    """
    rows = every_sequence(5)
    target = junta_of("x0 & x3")
    truth = target(rows)
    tables = [np.array(table) for table in product([False, True], repeat=4)]
    juntas = [Junta(places, 2, table) for places in combinations(range(5), 2) for table in tables]
    answers = np.stack([junta(rows) for junta in juntas])
    errors = (answers != truth).mean(axis=1)
    ceilings = {}
    rng, failures, draws = np.random.default_rng(0), 0, 1500
    for _ in range(draws):
        seen = rng.integers(0, 32, 12)
        counts = (answers[:, seen] != truth[seen]).sum(axis=1)
        for k in set(counts.tolist()) - set(ceilings):
            inputs, labels = rows[:12], np.zeros(12, dtype=bool)
            labels[:k] = True
            ceilings[k] = occam_bound(Junta((0, 1), 2, np.zeros(4, dtype=bool)), (inputs, labels), 0.2).error_bound
        failures += bool((errors > np.array([ceilings[k] for k in counts.tolist()])).any())
    assert failures / draws <= 0.2 - 3 * (0.2 * 0.8 / draws) ** 0.5


def test_identified_by_enumeration():
    """One junta of at most three positions is left: the target, whatever the law."""
    sample = labelled(AND, 60, 90, 1)
    found = juntas_that_fit(sample, 2, 3)
    for law in (uniform_law(2), biased_bits(0.6)):
        told = identify(AND, sample, 3, law, 0.01, found)
        assert (told.identified, told.by) == (True, "enumeration")
        assert "at most 3 of the 60" in told.assumption


def test_identified_by_size():
    """At m_id(100, 3) = 85 samples and not at 84, each cell witnessed, no search made."""
    never = juntas_that_fit(labelled(AND, 100, 4, 0), 2, 3, time_limit=0.0)
    for m, identified in ((85, True), (84, False)):
        inputs, _ = labelled(AND, 100, m, 5)
        inputs[:8, [3, 17, 40]] = every_sequence(3)
        told = identify(AND, (inputs, AND(inputs)), 3, uniform_law(2), 0.01, never)
        assert (told.identified, told.needed) == (identified, 85)
        assert "bits are uniform" in told.assumption


def rivals_on_one_sample(seeds=range(400)):
    """A sample at m_id(8, 2) = 28 that two witnessed juntas on two positions fit, and the two."""
    target = junta_of("x2 & x5")
    for seed in seeds:
        sample = labelled(target, 8, 28, seed)
        fits = [junta for junta in juntas_that_fit(sample, 2, 2).fitting if every_cell_seen(sample[0], junta)]
        if len(fits) > 1 and any(same(junta, target) for junta in fits):
            return sample, fits
    raise AssertionError("no sample has two; about one in 170 does")


def same(one, other):
    """Whether two juntas are one table on the same positions."""
    return one.positions == other.positions and np.array_equal(one.table, other.table)


def test_two_functions_that_fit_are_not_both_the_target():
    """T = 8, S = 2, m = 28 = m_id: the finished search finds two witnessed functions, and neither is the target."""
    sample, fits = rivals_on_one_sample()
    found = juntas_that_fit(sample, 2, 2)
    assert (found.finished, found.only) == (True, None)
    for junta in fits:
        told = identify(junta, sample, 2, uniform_law(2), 0.01, found)
        assert (told.identified, told.by) == (False, "")


def test_a_rival_of_an_unfinished_search_counts():
    """What a search found before its time was up fits the sample all the same."""
    sample, fits = rivals_on_one_sample()
    stopped = replace(juntas_that_fit(sample, 2, 2), finished=False, reason="the time for the search was up")
    for junta in fits:
        assert not identify(junta, sample, 2, uniform_law(2), 0.01, stopped).identified
    one, other = fits[:2]
    alone = replace(stopped, fitting=(one,), known=(one,))  # only one of the two was found
    assert identify(one, sample, 2, uniform_law(2), 0.01, alone).by == "sample size"
    assert not identify(other, sample, 2, uniform_law(2), 0.01, alone).identified


def test_a_rival_of_more_positions_counts():
    """x0 & x1 fits, and a larger set too: the search keeps both, also when stopped; neither is the target."""
    small, large = junta_of("x0 & x1"), junta_of("x2 & x3 & x4")
    inputs = np.random.default_rng(0).integers(0, 2, (2000, 12), dtype=np.int8)
    inputs = inputs[small(inputs) == large(inputs)][:400]
    sample = (inputs, small(inputs))
    found = juntas_that_fit(sample, 2, 3)
    assert [junta.positions for junta in found.fitting] == [(0, 1)]
    assert {(0, 1), (2, 3, 4)} <= {junta.positions for junta in found.known}
    for known in (found, replace(found, finished=False, only=None, reason="the time for the search was up")):
        for junta in (small, large):
            told = identify(junta, sample, 3, uniform_law(2), 0.01, known)
            assert (told.identified, told.by) == (False, "")


@pytest.mark.slow
def test_at_most_one_function_of_a_sample_is_identified():
    """Of 60 samples at m_id(6, 2), none has two functions called the target; most have one."""
    target, identified = junta_of("x0 & x2"), 0
    tables = [np.array(table) for table in product([False, True], repeat=4)]
    juntas = [without_ignored(Junta(places, 2, table)) for places in combinations(range(6), 2) for table in tables]
    for seed in range(60):
        sample = labelled(target, 6, identification_size(6, 2), seed)
        found = juntas_that_fit(sample, 2, 2)
        named = {
            (junta.positions, tuple(junta.table.tolist()))
            for junta in juntas
            if identify(junta, sample, 2, uniform_law(2), 0.01, found).identified
        }
        assert len(named) <= 1
        identified += len(named)
    assert identified > 30


def test_a_narrow_search_without_a_fit_knows_no_rival():
    """No junta of two positions fits: that is no rival of one of three, which its sample size identifies."""
    inputs, _ = labelled(AND, 100, 85, 5)
    inputs[:8, [3, 17, 40]] = every_sequence(3)
    sample = (inputs, AND(inputs))
    narrow = juntas_that_fit(sample, 2, 2)
    assert (narrow.finished, narrow.fitting) == (True, ())
    assert identify(AND, sample, 3, uniform_law(2), 0.01, narrow).by == "sample size"


def test_an_ignored_position_changes_nothing():
    """The only function that fits is identified also where its table names a position that it ignores."""
    sample = labelled(AND, 60, 200, 1)
    wide = Junta((3, 17, 40, 50), 2, np.tile(AND.table, 2))
    assert (
        identify(wide, sample, 4, biased_bits(0.6), 0.01, juntas_that_fit(sample, 2, 4)).by
        == identify(AND, sample, 4, biased_bits(0.6), 0.01, juntas_that_fit(sample, 2, 4)).by
    )


def test_what_is_not_identified():
    """Too many positions; an error; an unseen cell; another law; a sample in doubt: each says why."""
    never = juntas_that_fit(labelled(AND, 100, 4, 0), 2, 3, time_limit=0.0)
    inputs, labels = labelled(AND, 100, 200, 5)
    wrong = labels.copy()
    wrong[0] ^= True
    blind = inputs.copy()
    blind[:, 3] = 0
    cases = [
        ((AND, (inputs, labels), 2, uniform_law(2)), "reads 3 positions, more than the 2 assumed"),
        ((AND, (inputs, wrong), 3, uniform_law(2)), "errs on 1 of the samples"),
        ((AND, (blind, AND(blind)), 3, uniform_law(2)), "a cell of its table has no sample"),
        ((AND, (inputs, labels), 3, biased_bits(0.7)), "known for uniform bits only"),
    ]
    for (junta, sample, assumed, law), why in cases:
        told = identify(junta, sample, assumed, law, 0.01, never)
        assert not told.identified
        assert why in told.why
    assert identify(AND, (inputs, labels), 3, uniform_law(2), 0.01, never, "odd").why == "odd"


def test_a_wider_assumption_needs_a_wider_search():
    """A search up to three positions does not identify a target that may have four."""
    sample = labelled(AND, 60, 90, 1)
    told = identify(AND, sample, 4, biased_bits(0.6), 0.01, juntas_that_fit(sample, 2, 3))
    assert not told.identified


def test_yardsticks():
    """.018 for a clean half of 500; the model's own errors where inputs were set aside; none for a wrong half."""
    half = half_held_out_bound(500, 0, 0.01)
    assert half is not None
    assert (round(half.bound, 3), half.kind, half.inputs) == (0.018, "hypothetical half", 250)
    assert half_held_out_bound(3, 2, 0.01) is None
    assert half_held_out_bound(1, 0, 0.01) is None
    measured = held_out_bound(Evaluator(planted(AND, 50)), labelled(AND, 50, 80, 3, wrong=7), 0.01)
    assert (measured.errors, measured.inputs, measured.kind) == (7, 80, "measured")
    assert measured.bound == held_out_ceiling(7, 80, 0.01)


def test_a_law_that_does_not_fit_is_doubted():
    """Bits of bias .5 pass as uniform and as .51 (4 nats of 20,000 bits, 15.9 allowed), and not as .6."""
    sample = labelled(AND, 50, 400, 0)
    assert law_doubt(sample, uniform_law(2)) == ""
    assert law_doubt(sample, biased_bits(0.51)) == ""
    assert "says 0.4" in law_doubt(sample, biased_bits(0.6))


def test_every_position_is_compared_with_the_law():
    """Bits of bias .95 and .05 by turns are uniform together, and doubted; one constant position among many too."""
    rng = np.random.default_rng(0)
    biases = np.where(np.arange(40) % 2 == 0, 0.95, 0.05)
    turns = (rng.random((300, 40)) < biases).astype(int)
    told = law_doubt((turns, turns[:, 0] > 0), uniform_law(2))
    assert "at position" in told
    assert "says 0.5" in told
    inputs, labels = labelled(AND, 50, 400, 0)
    inputs[:, 7] = 1
    assert "at position 7" in law_doubt((inputs, labels), uniform_law(2))


@pytest.mark.parametrize("places", ["all", "one"])
def test_where_doubt_begins(places):
    """The first count that is doubted is the first with n KL(k/n‖½) > log(4A/level), and log T more at one position."""
    m, tokens, level = 400, 16, 1e-3
    n = m * tokens if places == "all" else m
    allowed = np.log(4 * 2 / level) + (0 if places == "all" else np.log(tokens))
    counts = np.arange(n // 2, n)
    nats = counts * np.log(2 * counts / n) + (n - counts) * np.log(2 - 2 * counts / n)
    first = int(counts[np.argmax(nats > allowed)])
    for ones, doubted in ((first - 1, False), (first, True)):
        inputs = np.zeros((m, tokens), dtype=int)
        if places == "all":  # row by row: every position has nearly the same share
            inputs.reshape(-1)[:ones] = 1
        else:
            inputs[: m // 2] = 1
            inputs[:ones, 3] = 1
            inputs[:, 5] = 1 - inputs[:, 3]  # the others keep the whole at one half
        assert bool(law_doubt((inputs, np.zeros(m, dtype=bool)), uniform_law(2), level)) is doubted


@pytest.mark.parametrize("law", [uniform_law(2), SymbolLaw((0.2, 0.5, 0.3))])
def test_samples_of_the_law_are_seldom_doubted(law):
    """At level .2 no more than that share of 300 samples, 200 positions each; three standard errors are .07.

    Without the share of each position nearly all would be: 200 tests of every symbol.
    """
    doubted = 0
    for draw in range(300):
        inputs = law.draw(30, 200, np.random.default_rng([5, draw]))
        doubted += bool(law_doubt((inputs, np.zeros(30, dtype=bool)), law, 0.2))
    assert doubted / 300 <= 0.2 + 0.07
