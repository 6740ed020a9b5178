"""Certificates end to end on planted models: what is proved holds, what is promised holds, each is said in words."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.attention.evaluation import evaluate
from keyhole.boolean.fitting.minimal import every_cell_seen, juntas_that_fit
from keyhole.boolean.junta import Junta, biased_bits, uniform_law
from keyhole.bounds.finite.identification import identification_size
from keyhole.bounds.finite.occam import certificate_nats, exact_error
from keyhole.errors import ArgumentError, AssumptionError, DataError
from keyhole.prover.certificate import SET_ASIDE, Terms, certificate_of
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof.tables import Drift
from keyhole.prover.sample.sample_bound import identify

from helpers.planted import every_sequence, junta_of, leaky, planted, random_symbol_junta, tent
from helpers.proofs import record, text

AND = junta_of("x3 & x17 & x20")
UNIFORM = Terms(uniform_law(2), fresh=20_000)


def labelled(junta, tokens, m, seed, law=None):
    """Inputs of the law, labelled by the junta."""
    inputs = (law or uniform_law(junta.symbols)).draw(m, tokens, np.random.default_rng(seed))
    return inputs, junta(inputs)


def test_proved_with_a_promise():
    """T = 100, m = 200: the bound of the theory (at its share of δ), identified, the network-free row equal to it."""
    found = certificate_of(
        planted(AND, 100, noise=0.1), labelled(AND, 100, 200, 0), terms=replace(UNIFORM, assume_junta=3)
    )
    assert found.status == "PROVED"
    assert found.junta is not None
    assert str(found.junta.function()) == "x3 & x17 & x20"
    wanted = exact_error(certificate_nats(100, 3, 0.01 * (1 - SET_ASIDE)), 200)
    assert found.error_bound == pytest.approx(wanted)
    assert round(wanted, 3) == 0.118
    assert (found.trivial_error, found.vacuous) == (0.125, False)
    assert found.identification is not None
    assert found.identification.identified
    free = found.network_free
    assert free is not None
    assert free.judgement == found.judgement
    assert free.identification == found.identification
    assert found.held_out is not None
    assert found.held_out.kind == "hypothetical half"


@pytest.mark.slow
def test_the_best_of_many_certificates_has_less_confidence():
    """A certificate says under -v, and in its record, what choosing the best of k costs."""
    found = certificate_of(planted(junta_of("x0"), 2), None, terms=Terms(uniform_law(2)))
    assert "The best of k certificates, chosen after they were seen, may be wrong with probability up to kδ" in text(
        found
    )
    assert "up to kδ" in record(found)["delta_means"]


def test_proved_models_never_disagree():
    """A proved model and its function on 200,000 inputs: not one disagreement."""
    junta = junta_of("maj(x1, x5, x9) ^ x30")
    model = planted(junta, 40, noise=0.1)
    found = certificate_of(model, terms=UNIFORM)
    assert found.status == "PROVED"
    rng = np.random.default_rng(0)
    for _ in range(2):
        rows = rng.integers(0, 2, (100_000, 40), dtype=np.int8)
        assert np.array_equal(np.asarray(evaluate(model, rows)) > 0, junta(rows))


@pytest.mark.slow
def test_a_counterexample_keeps_the_promise():
    """Not equal on every input: the rate of disagreement is added, and the input shown is one."""
    junta = junta_of("x1 & x4")
    model = leaky(junta, 40)
    found = certificate_of(model, labelled(junta, 40, 200, 1), terms=UNIFORM)
    assert found.status == "COUNTEREXAMPLE"
    witness = found.verification.counterexample
    assert (evaluate(model, witness)[()] > 0) != found.junta(witness[None])[0]
    assert found.sampled is not None
    assert found.judgement is not None
    assert str(found.junta.function()) == "x1 & x4"
    rate = min(found.sampled.rate, found.wrong_share.certain_high)
    assert found.wrong_share.low <= found.wrong_share.high <= found.wrong_share.certain_high
    assert found.error_bound == pytest.approx(found.judgement.error_bound + rate)
    assert "PROVED" not in text(found)


def test_repair_ends_in_a_proof_and_says_so():
    """The repaired model is proved, every input agreeing; without --repair nothing is changed."""
    junta = junta_of("x1 & x4")
    model = leaky(junta, 12)
    assert certificate_of(model, terms=UNIFORM).status == "COUNTEREXAMPLE"
    found = certificate_of(model, terms=replace(UNIFORM, repair=True))
    assert (found.status, found.before.status) == ("PROVED", "COUNTEREXAMPLE")
    rows = every_sequence(12)
    assert np.array_equal(np.asarray(evaluate(found.repair.model, rows)) > 0, found.junta(rows))
    assert record(found)["status_before_repair"] == "COUNTEREXAMPLE"


@pytest.mark.slow
def test_a_sink_that_changes_the_function_is_compared_anew():
    """The constant 0 is read off, the sink computes 1: the agreement shown is that of 1, counted on every input."""
    model = tent()
    given = certificate_of(model, terms=UNIFORM)
    found = certificate_of(model, terms=replace(UNIFORM, repair=True))
    assert (given.junta.table.tolist(), found.junta.table.tolist()) == ([False], [True])
    truth = np.mean(np.asarray(evaluate(model, every_sequence(11))) > 0)
    assert truth == 2**-11
    # 8192 draws: the count is Bin(8192, 2^-11), mean 4; more than 30 has probability below 1e-15
    assert found.extraction.agreement <= 30 / 8192
    assert found.extraction.agreement == pytest.approx(1 - given.extraction.agreement)
    assert record(found)["agreement"] == found.extraction.agreement


@pytest.mark.parametrize(("formula", "assumed"), [("x5", 1), ("x5 & x9", 2)])
def test_small_assumptions_search_among_themselves(formula, assumed):
    """Below m_id one function of at most S positions is left where many of three fit: it is the target, and is said so.

    The row without a network still looks among functions of up to three positions.
    """
    target, m = junta_of(formula), identification_size(50, assumed) - 2
    sample = next(
        drawn
        for drawn in (labelled(target, 50, m, seed) for seed in range(20))
        if juntas_that_fit(drawn, 2, assumed).only is not None and juntas_that_fit(drawn, 2, 3).only is None
    )
    found = certificate_of(planted(target, 50), sample, terms=replace(UNIFORM, assume_junta=assumed))
    assert (found.identification.identified, found.identification.by) == (True, "enumeration")
    assert found.network_free.identification == found.identification
    assert found.network_free.search.sparsity == 3


def test_a_model_no_better_than_a_constant_is_warned_of():
    """Errors on the training set, as many as the rarer label has or more, are warned of first; fewer, or none, not."""
    junta = junta_of("x1 & x4")
    inputs, answers = labelled(junta, 30, 120, 0)
    true = int(answers.sum())
    for turned in (0, 1, (true - 1) // 2, true // 2 + 1, true):
        labels = answers.copy()
        labels[np.flatnonzero(answers)[:turned]] = False
        found = certificate_of(planted(junta, 30), (inputs, labels), terms=replace(UNIFORM, time_limit=1.0))
        assert (found.model_errors, found.constant_errors) == (turned, true - turned)
        warned = turned >= true - turned
        assert bool(record(found)["warnings"]) is warned
    constant = certificate_of(planted(junta, 30), (inputs[~answers], answers[~answers]), terms=UNIFORM)
    assert (constant.model_errors, constant.constant_errors, record(constant)["warnings"]) == (0, 0, [])


def rivalled(formula="x2 & x5", seeds=range(400)):
    """A sample at m_id(8, 2) = 28 that a second junta of two positions fits too, each cell witnessed; and that one."""
    target = junta_of(formula)
    for seed in seeds:
        sample = labelled(target, 8, 28, seed)
        fits = [junta for junta in juntas_that_fit(sample, 2, 2).fitting if every_cell_seen(sample[0], junta)]
        others = [junta for junta in fits if junta.positions != target.positions]
        if len(fits) > len(others) > 0:
            return sample, others[0]
    raise AssertionError("no sample has two; about one in 170 does")


def test_a_certificate_calls_no_two_functions_the_target():
    """Two functions fit: the model's is not identified, nor the one found without it, in words and in the record."""
    sample, rival = rivalled()
    for junta in (rival, junta_of("x2 & x5")):
        found = certificate_of(planted(junta, 8), sample, terms=replace(UNIFORM, assume_junta=2))
        assert (found.identification.identified, found.network_free.identification.identified) == (False, False)
        told = record(found)
        assert (told["identified"], told["identified_by"], told["no_network"]["identified"]) == (False, "", False)
        assert (told["identified_by_enumeration"], told["identified_by_sample_size"]) == (False, False)


@pytest.mark.parametrize("assumed", [2, 3])
def test_the_function_of_the_model_is_a_rival(monkeypatch, assumed):
    """The search is stopped after x1; the model's own x1 & x2 fits every row too, so neither is the target."""
    alone, larger = junta_of("x1"), junta_of("x1 & x2")
    inputs = uniform_law(2).draw(4000, 30, np.random.default_rng(0))
    inputs = inputs[alone(inputs) == larger(inputs)][:1000]
    inputs[:2, [1, 2]] = [[0, 0], [0, 1]]
    monkeypatch.setattr("keyhole.prover.certificate.law_doubt", lambda *_: "")
    monkeypatch.setattr(
        "keyhole.prover.certificate.juntas_that_fit",
        lambda *given, **kept: replace(juntas_that_fit(*given, **kept), finished=False, only=None),
    )
    terms = replace(UNIFORM, assume_junta=assumed)
    found = certificate_of(planted(larger, 30), (inputs, alone(inputs)), terms=terms)
    assert [junta.positions for junta in found.network_free.search.known] == [(1,)]
    for told in (found.identification, found.network_free.identification):
        assert (told.identified, told.by) == (False, "")
    honest = certificate_of(planted(alone, 30), (inputs, alone(inputs)), terms=terms)
    assert honest.network_free.identification.by == "sample size"  # no rival is known there


def test_enumeration_and_sample_size_are_told_apart():
    """Enumeration is certain under its assumption; by size, where the search was not finished, δ is named."""
    sample, terms = labelled(AND, 60, 200, 0), replace(UNIFORM, assume_junta=3)
    listed = certificate_of(planted(AND, 60), sample, terms=terms)
    stopped = replace(listed.network_free.search, finished=False, only=None, reason="the time was up")
    told = identify(AND, sample, 3, uniform_law(2), 0.01, stopped)
    sized = replace(listed, identification=told)
    fields = ("identified_by", "identified_by_enumeration", "identified_by_sample_size", "identification_delta")
    assert [record(listed)[name] for name in fields] == ["enumeration", True, False, None]
    assert [record(sized)[name] for name in fields] == ["sample size", False, True, 0.01]
    assert record(listed)["no_network"]["identified_by"] == "enumeration"


@pytest.mark.parametrize(("assumed", "searches"), [(None, [3]), (0, [0, 3]), (2, [2, 3]), (3, [3]), (4, [4])])
def test_no_search_is_made_twice(monkeypatch, assumed, searches):
    """One search where S ≥ 3 or nothing is assumed, two where S is smaller."""
    asked = []
    monkeypatch.setattr(
        "keyhole.prover.certificate.juntas_that_fit",
        lambda *given, **kept: asked.append(given[2]) or juntas_that_fit(*given, **kept),
    )
    target = junta_of("x1 & x4")
    certificate_of(planted(target, 12), labelled(target, 12, 80, 0), terms=replace(UNIFORM, assume_junta=assumed))
    assert asked == searches


def test_sharpening_only_without_training_errors():
    """Twice the scores prove it: sharpening is taken if the sample has no error, the sink projection if it has one."""
    junta = junta_of("x1 & x4")
    model, sample = leaky(junta, 40), labelled(junta, 40, 60, 0)
    wrong = (sample[0], sample[1].copy())
    wrong[1][0] ^= True
    for given, name in ((sample, "sharpening"), (wrong, "sink projection"), (None, "sink projection")):
        found = certificate_of(model, given, terms=replace(UNIFORM, repair=True))
        assert (found.status, found.repair.name) == ("PROVED", name)


@pytest.mark.slow
def test_never_below_the_true_error():
    """Forty small samples, models of wrong juntas that fit them: no promise is below the true error.

    The learner is the worst there is: of all fitting juntas on two positions it takes the one farthest from the target.
    """
    target = junta_of("x0 & x2")
    rows = every_sequence(7)
    rng = np.random.default_rng(4)
    issued = 0
    for draw in range(40):
        m = int(rng.integers(6, 40))
        inputs, labels = labelled(target, 7, m, draw)
        fits = [
            junta
            for places in [(i, j) for i in range(7) for j in range(i + 1, 7)]
            for junta in [_fit(inputs, labels, places)]
            if junta is not None
        ]
        worst = max(fits, key=lambda junta: np.mean(junta(rows) != target(rows)))
        model = planted(worst, 7)
        found = certificate_of(model, (inputs, labels), terms=replace(UNIFORM, time_limit=2.0))
        truth = np.mean((np.asarray(evaluate(model, rows)) > 0) != target(rows))
        assert found.error_bound is not None
        assert found.error_bound >= truth
        issued += truth > 0
    assert issued >= 5  # some of the models were wrong


def _fit(inputs, labels, places):
    """The function of two positions that fits, unseen cells answered against the target's rarer label; or None."""
    cells = inputs[:, list(places)].astype(int) @ np.array([1, 2])
    table = np.ones(4, dtype=bool)
    for cell in range(4):
        answers = set(labels[cells == cell].tolist())
        if len(answers) == 2:
            return None
        if answers:
            table[cell] = answers.pop()
    return type(AND)(places, 2, table)


def test_conditioned_training_sets_pay():
    """A set kept with probability ¼ has a quarter of δ for its sample, and all of it for fresh inputs."""
    one, quarter = (replace(UNIFORM, accepted=accepted) for accepted in (1.0, 0.25))
    assert quarter.occam_delta == pytest.approx(one.occam_delta / 4)
    assert quarter.sampling_delta == one.sampling_delta
    assert one.occam_delta + one.sampling_delta == pytest.approx(0.01)
    sample = labelled(AND, 40, 150, 0)
    bounds = [certificate_of(planted(AND, 40), sample, terms=terms).error_bound for terms in (one, quarter)]
    assert -150 * np.log1p(-bounds[1]) == pytest.approx(-150 * np.log1p(-bounds[0]) + np.log(4))


@pytest.mark.slow
def test_another_law_than_the_sample_is_doubted():
    """Biased data under a uniform law: a proof still promises, a sampled rate does not, and both say the doubt."""
    law = biased_bits(0.8)
    sample = labelled(AND, 40, 300, 0, law)
    proved = certificate_of(planted(AND, 40), sample, terms=replace(UNIFORM, assume_junta=3))
    assert proved.error_bound is not None
    assert proved.doubt in " ".join(record(proved)["assumptions"])
    junta = junta_of("x1 & x4")
    shaky = certificate_of(leaky(junta, 40), labelled(junta, 40, 300, 0, law), terms=UNIFORM)
    assert shaky.status == "COUNTEREXAMPLE"
    assert shaky.error_bound is None


def test_larger_alphabets():
    """Three symbols: proved, with the bound of 2^(A^s) tables; the formula lists the true cells."""
    junta = random_symbol_junta((1, 5), 3)
    found = certificate_of(planted(junta, 12, focus=8.0), labelled(junta, 12, 200, 0), terms=Terms(uniform_law(3)))
    assert found.status == "PROVED"
    assert found.error_bound == pytest.approx(exact_error(certificate_nats(12, 2, 0.0099, 3), 200))
    assert "(x1, x5) in {" in record(found)["function"]
    assert "3^12" in text(found)


def test_the_words_and_the_record_say_what_is_proved():
    """Whether a proof is of the weights or of tables is printed, and in the record, with a sample or without."""
    for sample in (None, labelled(AND, 50, 200, 0)):
        for drifts, words in (
            (None, "that its tables of scores and values, taken as exact, define"),
            (
                (Drift(1e-12, 1e-12),),
                "its weights define in exact arithmetic; proofs and counterexamples allow for all",
            ),
        ):
            found = certificate_of(planted(AND, 50), sample, drifts=drifts, terms=UNIFORM)
            assert any(words in said for said in record(found)["assumptions"])


def test_a_repaired_model_is_its_tables():
    """What a repair makes has no weights: its proof is of tables, whatever the model as given was."""
    model = leaky(junta_of("x1 & x4"), 12)
    drifts = (Drift(1e-12, 1e-12),) * len(model.heads)
    found = certificate_of(model, drifts=drifts, terms=replace(UNIFORM, repair=True))
    assert (found.before.status, found.status) == ("COUNTEREXAMPLE", "PROVED")
    assert not found.of_weights


def test_every_promise_has_its_delta():
    """The error fails with probability at most δ; identification and inputs set aside have a δ each, added up."""
    sample, aside = labelled(AND, 50, 200, 0), labelled(AND, 50, 40, 1)
    one = certificate_of(planted(AND, 50), sample, terms=UNIFORM)
    assert list(record(one)["delta_parts"]) == ["sample", "fresh inputs"]
    all_three = certificate_of(planted(AND, 50), sample, held_out=aside, terms=replace(UNIFORM, assume_junta=3))
    assert sum(record(all_three)["delta_parts"].values()) == pytest.approx(0.03)


@pytest.mark.parametrize("noise", ["label noise 0.1", "feature noise 0.3"])
def test_noise_identifies_nothing(noise):
    """The only junta that fits a noisy sample is not called the target; the error is against noisy samples."""
    sample = labelled(AND, 50, 200, 0)
    terms = replace(UNIFORM, assume_junta=3)
    clean = certificate_of(planted(AND, 50), sample, terms=terms)
    assert (clean.identification.identified, clean.network_free.identification.identified) == (True, True)
    noisy = certificate_of(planted(AND, 50), sample, terms=replace(terms, noise=noise))
    assert (noisy.identification.identified, noisy.network_free.identification.identified) == (False, False)
    assert noisy.error_bound == clean.error_bound  # the draws are independent all the same
    assert noise in noisy.identification.why
    assert any(noise in each for each in record(noisy)["assumptions"])


def test_promises_on_noisy_samples_hold():
    """Twelve samples with a fifth of the labels flipped: no promise is below the error against such labels."""
    target = junta_of("x0 & x2")
    rows = every_sequence(7)
    for draw in range(12):
        inputs, labels = labelled(target, 7, 60, draw)
        labels = labels ^ (np.random.default_rng([9, draw]).random(60) < 0.2)
        fitted = min(
            (junta_of(f"x{i} & x{j}") for i in range(7) for j in range(i)),
            key=lambda one: np.sum(one(inputs) != labels),
        )
        found = certificate_of(planted(fitted, 7), (inputs, labels), terms=replace(UNIFORM, noise="label noise 0.2"))
        wrong = np.mean(fitted(rows) != target(rows))
        assert found.error_bound >= 0.8 * wrong + 0.2 * (1 - wrong)


def test_a_biased_law_with_redrawn_sets():
    """Bits of bias 0.8, sets kept with probability ¼: a bound at a quarter of δ, the law's trivial error, no doubt."""
    law = biased_bits(0.8)
    terms = Terms(law, accepted=0.25, assume_junta=3, fresh=20_000)
    found = certificate_of(planted(AND, 40), labelled(AND, 40, 300, 0, law), terms=terms)
    assert found.status == "PROVED"
    assert found.error_bound == pytest.approx(exact_error(certificate_nats(40, 3, 0.0099 / 4), 300))
    assert found.trivial_error == pytest.approx(1 - 0.8**3)
    assert found.doubt == ""
    assert (found.identification.identified, found.identification.by) == (True, "enumeration")
    assert "probability 0.25" in text(found)
    assert record(found)["delta_parts"]["identification"] == pytest.approx(0.0025)


def test_identification_of_redrawn_sets_promises_delta(monkeypatch):
    """Sets kept with probability ¼: the sample size is that of δ/4, and of kept sets a wrong name has chance δ."""
    monkeypatch.setattr(
        "keyhole.prover.certificate.juntas_that_fit",
        lambda *given, **kept: replace(juntas_that_fit(*given, **kept), finished=False, only=None, reason="late"),
    )
    terms = replace(UNIFORM, accepted=0.25, assume_junta=3)
    found = certificate_of(planted(AND, 40), labelled(AND, 40, 300, 0), terms=terms)
    assert (found.identification.by, found.identification.delta) == ("sample size", 0.01)
    assert found.identification.needed == identification_size(40, 3, 0.0025) != identification_size(40, 3, 0.01)
    assert record(found)["identification_delta"] == 0.01


def test_no_function_no_promise():
    """A majority of all 31 positions has no small junta: undecided, said, nothing promised, no crash."""
    model = planted(junta_of("x0"), 31)
    head = model.heads[0]
    votes = np.tile(np.array([[0.0], [2.0]]), (31, 1, 1))
    model = replace(
        model,
        heads=(replace(head, scores=np.zeros((31, 2)), values=votes),),
        wiring=replace(model.wiring, feedforward=None),
        readout=replace(model.readout, bias=np.asarray(-1.0)),
    )
    found = certificate_of(model, labelled(AND, 31, 50, 0), terms=UNIFORM)
    assert (found.status, found.junta, found.error_bound) == ("UNDECIDED", None, None)
    assert record(found)["function"] is None


def test_refusals():
    """Data of another length, another alphabet, none at all; terms that are none."""
    model = planted(AND, 30)
    with pytest.raises(DataError, match="The data have 31 positions, and the model reads 30"):
        certificate_of(model, labelled(AND, 31, 5, 0))
    with pytest.raises(DataError, match="hold the symbol 2, and the model's alphabet runs from 0 to 1"):
        certificate_of(model, (np.full((3, 30), 2), np.zeros(3, dtype=bool)))
    with pytest.raises(DataError, match="0 inputs came with 0 labels"):
        certificate_of(model, labelled(AND, 30, 0, 0))
    with pytest.raises(AssumptionError, match="draws 3 symbols, and the model reads 2"):
        certificate_of(model, terms=Terms(uniform_law(3)))
    with pytest.raises(AssumptionError, match="kept with a probability above 0"):
        replace(UNIFORM, accepted=0.0)
    with pytest.raises(AssumptionError, match="0 < δ < 1"):
        replace(UNIFORM, delta=1.0)
    with pytest.raises(ArgumentError, match="depends on 0 positions or more"):
        replace(UNIFORM, assume_junta=-1)
    with pytest.raises(ArgumentError, match=r"^Model and function are compared on 1 fresh .* got 0\.$"):
        replace(UNIFORM, fresh=0)
    with pytest.raises(ArgumentError, match=r"^A proof is given a number of seconds above 0; got nan\.$"):
        replace(UNIFORM, time_limit=float("nan"))


def test_open_parts_are_counted_in_words():
    """With no time for branching, the one cell of a constant is one part that is open."""
    model = tent()
    fed = model.wiring.feedforward
    weight = fed.outer.weight * np.array([1, 1, 1, 0])[:, None]  # no input answers true, and no first bound shows it
    model = replace(
        model, wiring=replace(model.wiring, feedforward=replace(fed, outer=replace(fed.outer, weight=weight)))
    )
    found = prove_equal(model, Junta((), 2, np.array([False])), time_limit=1e-9)
    assert found.status == "UNDECIDED"
    assert found.reason.startswith("1 part is open")
    halves = prove_equal(model, Junta((0,), 2, np.array([False, False])), time_limit=1e-9)
    assert halves.reason.startswith("2 parts are open")


@pytest.mark.slow
def test_the_hypothetical_half_counts_errors_of_the_model():
    """A model that errs where its function does not: the half is judged by the model's errors, and says whose."""
    model = tent()
    inputs = np.vstack([np.ones((3, 11), dtype=np.int8), labelled(AND, 21, 97, 0)[0][:, :11]])
    found = certificate_of(model, (inputs, np.zeros(100, dtype=bool)), terms=UNIFORM)
    assert (found.judgement.errors, found.model_errors, found.held_out.errors) == (0, 3, 3)
